import { useFilterWords } from '../names/filter-words.ts'

/** Whatever bulk work is about. */
export function Scope({ filter }: { filter: object }) {
  const wordsOf = useFilterWords()
  return (
    <dl className="facts">
      {wordsOf(filter).map(({ name, label, text }) => (
        <Part key={name} name={label} value={text} />
      ))}
    </dl>
  )
}

function Part({ name, value }: { name: string; value: string }) {
  return (
    <>
      <dt>{name}</dt>
      <dd>{value}</dd>
    </>
  )
}
