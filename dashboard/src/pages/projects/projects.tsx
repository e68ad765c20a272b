import { useQueryClient } from '@tanstack/react-query'
import { Link } from '@tanstack/react-router'
import { useState } from 'react'

import { openApi } from '../../api/client.ts'
import { DangerAction } from '../../parts/danger-action.tsx'
import { Dialog } from '../../parts/dialog.tsx'
import { TextField } from '../../parts/forms/fields.tsx'
import { Form, useAction } from '../../parts/forms/form.tsx'
import { ActionTable } from '../../parts/lists/action-table.tsx'
import { CopyButton } from '../../parts/words/copy.tsx'
import { PageTitle } from '../../parts/words/page-title.tsx'
import { Time } from '../../parts/words/time.tsx'
import { useProject } from '../../session/project.tsx'
import { projectsQuery, useReach, type Project } from '../../session/session.ts'

function useAgain() {
  const client = useQueryClient()
  return () => client.invalidateQueries(projectsQuery)
}

export function Projects() {
  const { organisation } = useProject()
  const [edited, setEdited] = useState<Project | 'new' | null>(null)
  // `/app/api/{projectId}/projects` lists that project alone.
  const projects = useReach()?.filter((each) => each.organisation.id === organisation.id) ?? []
  return (
    <>
      <header>
        <PageTitle>Projects</PageTitle>
        <div className="buttons">
          <button type="button" className="button main" onClick={() => setEdited('new')}>
            New project
          </button>
        </div>
      </header>
      {edited !== null && <ProjectDialog project={edited} onClose={() => setEdited(null)} />}
      <ActionTable columns={['Project', 'Id', 'Made']}>
        {projects.map(({ project }) => (
          <ProjectRow key={project.id} project={project} edit={() => setEdited(project)} />
        ))}
      </ActionTable>
    </>
  )
}

function ProjectRow({ project, edit }: { project: Project; edit: () => void }) {
  const again = useAgain()
  return (
    <tr>
      <td>
        <Link to="/p/$projectId" params={{ projectId: project.id }}>
          {project.name}
        </Link>
        {project.isDefault && <span className="muted"> (default)</span>}
      </td>
      <td data-label="Id">
        <CopyButton text={project.id} label="Copy id" />
      </td>
      <td data-label="Made">
        <Time at={project.createdAt} />
      </td>
      <td>
        <span className="buttons">
          <button type="button" className="button" onClick={edit}>
            Rename…
          </button>
          {!project.isDefault && (
            <DangerAction
              name="Delete…"
              title={`Delete ${project.name}?`}
              action="Delete"
              typed={project.name}
              run={async () => {
                await openApi(project.id).deleteProject({ id: project.id, cascade: true })
                await again()
              }}
            >
              <p>Everything in it is deleted, and what waits is cancelled.</p>
            </DangerAction>
          )}
        </span>
      </td>
    </tr>
  )
}

function ProjectDialog({ project, onClose }: { project: Project | 'new'; onClose: () => void }) {
  const { api } = useProject()
  const again = useAgain()
  const [name, setName] = useState(project === 'new' ? '' : project.name)
  const action = useAction(
    () =>
      project === 'new'
        ? api.createProject({ body: { name } })
        : openApi(project.id).updateProject({ id: project.id, body: { data: { name } } }),
    () => {
      onClose()
      void again()
    },
  )
  return (
    <Dialog title={project === 'new' ? 'New project' : `Rename ${project.name}`} onClose={onClose}>
      <Form
        action={action}
        submit="Save"
        others={
          <button type="button" className="button" onClick={onClose}>
            Leave it
          </button>
        }
      >
        <TextField
          label="Name"
          required
          autoFocus
          value={name}
          onChange={setName}
          fault={action.fault('name')}
        />
      </Form>
    </Dialog>
  )
}
