import { PosternError } from '../../../clients/typescript/error.ts'

// Every page needs these; the operations of the API come with the pages of a project.
export { PosternError }

/** Throws a `PosternError` with the status 0 when there is no answer. */
export async function reach(url: string, init: RequestInit): Promise<Response> {
  return await fetch(url, init).catch((): never => {
    throw new PosternError(0, { message: 'The server cannot be reached.' })
  })
}
