import { Empty, Loaded } from '../../parts/states.tsx'
import { PageTitle } from '../../parts/words/page-title.tsx'
import { AlertTable } from './alert-table.tsx'
import { AlertTarget } from './alert-target.tsx'
import { MailChoice } from './mail-choice.tsx'
import { useAlerts } from './queries.ts'

/** The open ones first, then where they go, then what was. */
export function Alerts() {
  const open = useAlerts('open')
  const closed = useAlerts('closed')
  return (
    <>
      <header>
        <PageTitle>Alerts</PageTitle>
      </header>
      <Loaded query={open} noun="The list">
        {({ data }) =>
          data.length === 0 ? (
            <Empty title="Nothing is wrong">
              <p>
                Destinations that fail, connectors that are gone, quotas and floods of rejections
                show here, and are told to the address below.
              </p>
            </Empty>
          ) : (
            <AlertTable alerts={data} label="Open alerts" />
          )
        }
      </Loaded>
      <AlertTarget />
      <MailChoice />
      <section className="section">
        <h2>Past alerts</h2>
        <Loaded query={closed} noun="The list">
          {({ data }) =>
            data.length === 0 ? (
              <p className="muted">None in the last 90 days.</p>
            ) : (
              <AlertTable alerts={data} label="Past alerts" />
            )
          }
        </Loaded>
      </section>
    </>
  )
}
