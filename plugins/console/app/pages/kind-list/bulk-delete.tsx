import { useEffect, useState } from 'preact/hooks';
import { toFailure } from '../../api/failure.ts';
import { pathOf } from '../../api/resources.ts';
import type { Resource } from '../../api/resources.ts';
import { formatCount } from '../../base/shown-text.ts';
import { Dialog } from '../../parts/dialog.tsx';
import { notify } from '../../state/page-state.ts';
import { api } from '../../state/session.ts';
import type { Row } from './row-table.ts';

interface Result {
  readonly row: Row;
  /** The reason why the delete is refused; undefined when it is not. */
  readonly problem: string | undefined;
}

/** Requests under way at one time. */
const concurrency = 4;

/** Deletes objects one by one, or only tries that in dry runs. */
async function deleteAll(
  resource: Resource,
  rows: readonly Row[],
  options: { readonly isDryRun: boolean; readonly onResult: (result: Result) => void },
): Promise<void> {
  const waiting = [...rows];
  const lane = async (): Promise<void> => {
    for (let row = waiting.shift(); row !== undefined; row = waiting.shift()) {
      const path = pathOf(resource, row.namespace, row.name);
      const body = { apiVersion: 'v1', kind: 'DeleteOptions', preconditions: { uid: row.uid } };
      const query = { dryRun: options.isDryRun ? 'All' : undefined };
      try {
        await api.call(path, { method: 'DELETE', query, body });
        options.onResult({ row, problem: undefined });
      } catch (error) {
        options.onResult({ row, problem: toFailure(error).message });
      }
    }
  };
  await Promise.all(Array.from({ length: concurrency }, lane));
}

interface Props {
  readonly resource: Resource;
  readonly rows: readonly Row[];
  readonly onClose: () => void;
}

/** Shows the result of a dry run that deletes the selected objects, and then deletes them. */
export function BulkDelete({ resource, rows: given, onClose }: Props) {
  // Rows change while the dialog is open.
  const [rows] = useState(given);
  const [results, setResults] = useState<readonly Result[]>([]);
  const [step, setStep] = useState<'trying' | 'tried' | 'deleting'>('trying');
  const onResult = (result: Result): void => setResults((old) => [...old, result]);
  useEffect(() => {
    void deleteAll(resource, rows, { isDryRun: true, onResult }).then(() => setStep('tried'));
  }, []);
  const refused = results.filter(({ problem }) => problem !== undefined);
  const allowed = results.filter(({ problem }) => problem === undefined).map(({ row }) => row);
  const confirm = async (): Promise<void> => {
    setStep('deleting');
    setResults([]);
    const failed: Result[] = [];
    await deleteAll(resource, allowed, {
      isDryRun: false,
      onResult: (result) => {
        onResult(result);
        if (result.problem !== undefined) failed.push(result);
      },
    });
    const [first] = failed;
    if (first === undefined) notify('good', `${formatCount(allowed.length)} deleted`);
    else notify('bad', `${formatCount(failed.length)} not deleted: ${first.problem}`);
    onClose();
  };
  return (
    <Dialog title={`Delete ${formatCount(rows.length)} of ${resource.kind}`} onClose={onClose}>
      <p role="status">
        {step === 'trying' ? `Trying without changing anything: ${results.length} of ${rows.length}…` : null}
        {step === 'tried'
          ? `The server would delete ${formatCount(allowed.length)}, and refuses ${formatCount(refused.length)}.`
          : null}
        {step === 'deleting' ? `Deleting: ${results.length} of ${rows.length}…` : null}
      </p>
      <ul class="plain-list">
        {refused.slice(0, 20).map(({ row, problem }) => (
          <li key={row.key}>
            <strong>{row.name}</strong>: {problem}
          </li>
        ))}
      </ul>
      <p class="muted">Objects with finalizers stay until their controllers have cleaned up.</p>
      <div class="dialog-actions">
        <button type="button" class="button" onClick={onClose}>
          Cancel
        </button>
        <button
          type="button"
          class="button button-danger"
          disabled={step !== 'tried' || allowed.length === 0}
          onClick={() => void confirm()}
        >
          Delete {formatCount(allowed.length)}
        </button>
      </div>
    </Dialog>
  );
}
