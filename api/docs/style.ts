/** The only style of the page, inline: the policy lets nothing else in. */
export const STYLE = `
:root { color-scheme: light dark; --ink: #1d2430; --soft: #59636e; --line: #d8dee6; --ground: #fff; --raised: #f5f7fa;
  --accent: #0b5cad; --get: #0a6b3d; --post: #0b5cad; --put: #7a4a00; --patch: #7a4a00; --delete: #b3261e; }
@media (prefers-color-scheme: dark) {
  :root { --ink: #e4e8ee; --soft: #9aa5b1; --line: #303844; --ground: #12161c; --raised: #1b212a; --accent: #7db8ff;
    --get: #6fd39b; --post: #7db8ff; --put: #e8b765; --patch: #e8b765; --delete: #ff8f85; }
}
* { box-sizing: border-box; }
html { scroll-padding-top: 1rem; }
body { margin: 0; background: var(--ground); color: var(--ink); font: 16px/1.55 system-ui, sans-serif;
  overflow-wrap: break-word; }
a { color: var(--accent); }
code, pre { font: 0.875em/1.5 ui-monospace, monospace; }
p code, li code, td code { background: var(--raised); border-radius: 3px; padding: 0.1em 0.3em; overflow-wrap: anywhere; }
pre { background: var(--raised); border: 1px solid var(--line); border-radius: 6px; margin: 0.5rem 0; overflow-x: auto;
  padding: 0.75rem; }
.page { display: grid; grid-template-columns: minmax(0, 1fr); margin: 0 auto; max-width: 76rem; padding: 0 1rem 4rem; }
nav ul { list-style: none; margin: 0 0 1rem; padding: 0; }
nav li { font-size: 0.875rem; margin: 0.2rem 0; }
nav summary { cursor: pointer; font-weight: 600; padding: 0.4rem 0; }
h1 { font-size: 1.75rem; line-height: 1.2; }
h2 { border-bottom: 1px solid var(--line); margin: 3rem 0 0.5rem; padding-bottom: 0.25rem; }
h3 { font-size: 1.1rem; margin: 0; }
h4 { font-size: 0.9rem; margin: 1.25rem 0 0.25rem; }
.operation { border-bottom: 1px solid var(--line); padding: 1.5rem 0; }
.call { align-items: baseline; display: flex; flex-wrap: wrap; gap: 0.25rem 0.5rem; margin: 0.25rem 0; }
.call code { overflow-wrap: anywhere; }
.method { font: 700 0.8rem ui-monospace, monospace; }
.get { color: var(--get); } .post { color: var(--post); } .put { color: var(--put); } .patch { color: var(--patch); }
.delete { color: var(--delete); }
.note { color: var(--soft); font-size: 0.875rem; }
dl { margin: 0; }
.member { border-top: 1px solid var(--line); padding: 0.4rem 0; }
.member dt { display: flex; flex-wrap: wrap; gap: 0 0.5rem; }
.member dd { color: var(--soft); font-size: 0.9rem; margin: 0; }
.member dd p { margin: 0; }
.type { color: var(--soft); font-size: 0.875rem; }
details.codes > summary, details.answer > summary { cursor: pointer; font-size: 0.9rem; font-weight: 600;
  margin-top: 1.25rem; }
details.code > summary { cursor: pointer; font-size: 0.875rem; }
:focus-visible { outline: 2px solid var(--accent); outline-offset: 2px; }
@media (min-width: 62rem) {
  .page { column-gap: 2.5rem; grid-template-columns: 15rem minmax(0, 1fr); }
  .page { grid-template-rows: auto 1fr; }
  header, main { grid-column: 2; }
  nav { border-right: 1px solid var(--line); grid-column: 1; grid-row: 1 / 3; max-height: 100vh; overflow-y: auto;
    padding: 1rem 1rem 2rem 0; position: sticky; top: 0; }
  nav details::details-content { content-visibility: visible; }
  nav summary { list-style: none; }
}
@media print { nav { display: none; } }
`
