import type { Schemas } from '../../../api/client.ts'
import { StatusShape } from '../../../parts/words/status.tsx'
import { shapeOfExpected } from './expected.ts'
import { REASONS } from './reasons.ts'

export function Diagnosis({
  diagnosis,
  source,
}: {
  diagnosis: Schemas['SignatureDiagnosis']
  source: Schemas['Source']
}) {
  const { valid, reason, detail, verifiedWith, secret } = diagnosis
  const meaning = reason === null ? undefined : REASONS[reason]
  const expected = shapeOfExpected(source.verifier)
  return (
    <section className="form" aria-live="polite">
      <div className={valid ? 'notice place' : 'notice bad'}>
        <StatusShape status={valid ? 'succeeded' : 'rejected'} />
        <strong>
          {valid
            ? `The source would accept it${secret === null ? '' : `, by the ${secret} secret`}.`
            : meaning?.words}
        </strong>
      </div>
      <dl className="facts">
        <dt>Verifier</dt>
        <dd className="mono">{verifiedWith}</dd>
        {reason !== null && (
          <>
            <dt>Reason</dt>
            <dd className="mono">{reason}</dd>
          </>
        )}
        {detail !== null && (
          <>
            <dt>Detail</dt>
            <dd>{detail}</dd>
          </>
        )}
        {expected.map(([name, value]) => (
          <Expected key={name} name={name} value={value} />
        ))}
      </dl>
      {meaning !== undefined && meaning.traps.length > 0 && (
        <>
          <h3>Usual causes</h3>
          <ul>
            {meaning.traps.map((trap) => (
              <li key={trap}>{trap}</li>
            ))}
          </ul>
        </>
      )}
    </section>
  )
}

function Expected({ name, value }: { name: string; value: string }) {
  return (
    <>
      <dt>{name}</dt>
      <dd className="mono">{value}</dd>
    </>
  )
}
