import { formatPath } from '../base/json.ts';
import type { Json } from '../base/json.ts';
import type { Difference } from '../base/differences.ts';
import { formatCount, shortText } from '../base/shown-text.ts';

const shownDifferences = 200;

/** Shows the fields that differ, each with its value before and after. */
export function DiffView({ differences }: { readonly differences: readonly Difference[] }) {
  return (
    <div class="diff">
      {differences.slice(0, shownDifferences).map(({ path, before, after }) => (
        <div key={formatPath(path)} class="diff-row">
          <code class="diff-path">{shortText(formatPath(path), 200)}</code>
          {before === undefined ? null : <Line sign="−" value={before} />}
          {after === undefined ? null : <Line sign="+" value={after} />}
        </div>
      ))}
      {differences.length > shownDifferences ? (
        <p class="muted">and {formatCount(differences.length - shownDifferences)} more fields</p>
      ) : null}
    </div>
  );
}

function Line({ sign, value }: { readonly sign: '+' | '−'; readonly value: Json }) {
  return (
    <div class={sign === '+' ? 'diff-added' : 'diff-removed'}>
      <span aria-hidden="true">{sign} </span>
      <span class="visually-hidden">{sign === '+' ? 'after' : 'before'}</span>
      <bdi>{shortText(typeof value === 'string' ? value : JSON.stringify(value, null, 2), 2000)}</bdi>
    </div>
  );
}
