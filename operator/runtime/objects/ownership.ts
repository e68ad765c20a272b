import { apiVersionOf, type Kind, type KubeObject, type OwnerReference } from '../kube/object.ts'

/** Its child goes with it: Kubernetes deletes what is owned. */
export function ownerReference(kind: Kind, { metadata }: KubeObject): OwnerReference {
  return {
    apiVersion: apiVersionOf(kind),
    kind: kind.kind,
    name: metadata.name,
    uid: metadata.uid ?? '',
    controller: true,
    blockOwnerDeletion: true,
  }
}

/** The one that controls an object. */
export function controllerOf({ metadata }: KubeObject): OwnerReference | undefined {
  return metadata.ownerReferences?.find(({ controller }) => controller === true)
}

export function hasFinalizer({ metadata }: KubeObject, finalizer: string): boolean {
  return metadata.finalizers?.includes(finalizer) === true
}

/** Merge patches that add and remove a finalizer. They fail with 409 when the object has changed meanwhile. */
export function withFinalizer({ metadata }: KubeObject, finalizer: string): object {
  return guarded(metadata.resourceVersion, [...(metadata.finalizers ?? []), finalizer])
}

export function withoutFinalizer({ metadata }: KubeObject, finalizer: string): object {
  const kept = metadata.finalizers?.filter((other) => other !== finalizer) ?? []
  return guarded(metadata.resourceVersion, kept)
}

function guarded(resourceVersion: string | undefined, finalizers: string[]): object {
  return { metadata: { resourceVersion, finalizers } }
}
