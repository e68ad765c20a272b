/** Headers or query parameters in their order, repeated ones among them. */
export function Pairs({ pairs, label }: { pairs: readonly string[][]; label: string }) {
  if (pairs.length === 0) return <p className="muted">none</p>
  return (
    <div className="wide">
      <table className="table">
        <caption className="unseen">{label}</caption>
        <tbody>
          {pairs.map(([name = '', value = ''], index) => (
            <tr key={index}>
              <th scope="row" className="mono">
                {name}
              </th>
              <td className="mono">{value}</td>
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  )
}
