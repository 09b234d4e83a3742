import { useEffect, useState } from 'preact/hooks';
import { toFailure } from '../../api/failure.ts';
import { pathOf } from '../../api/resources.ts';
import type { Resource } from '../../api/resources.ts';
import { formatCount } from '../../base/shown-text.ts';
import { Dialog } from '../../parts/dialog.tsx';
import { notify } from '../../state/page-state.ts';
import { api } from '../../state/session.ts';
import type { BulkAction } from './bulk-actions.ts';
import type { Row } from './row-table.ts';

interface Result {
  readonly row: Row;
  /** The reason why the server refuses the action on this object; undefined when the server accepts the action. */
  readonly problem: string | undefined;
}

interface RunParts {
  readonly resource: Resource;
  readonly action: BulkAction;
  readonly isDryRun: boolean;
  readonly onResult: (result: Result) => void;
  readonly signal: AbortSignal;
}

/** The maximum number of requests in progress at one time. */
const concurrency = 4;

/** Sends a request for each row until the signal aborts. A dry run only asks the server what would happen. */
async function runAll(rows: readonly Row[], parts: RunParts): Promise<void> {
  const { resource, action, isDryRun, onResult, signal } = parts;
  const waiting = [...rows].reverse();
  const lane = async (): Promise<void> => {
    for (let row = waiting.pop(); row !== undefined && !signal.aborted; row = waiting.pop()) {
      const query = { fieldManager: 'console', dryRun: isDryRun ? 'All' : undefined };
      try {
        await api.call(pathOf(resource, row.namespace, row.name), { ...action.callFor(row), query });
        onResult({ row, problem: undefined });
      } catch (error) {
        onResult({ row, problem: toFailure(error).message });
      }
    }
  };
  await Promise.all(Array.from({ length: concurrency }, lane));
}

interface Props {
  readonly resource: Resource;
  readonly action: BulkAction;
  readonly rows: readonly Row[];
  readonly onClose: () => void;
}

type Step = 'trying' | 'tried' | 'doing';

interface Bulk {
  readonly step: Step;
  readonly results: readonly Result[];
  readonly refused: readonly Result[];
  readonly allowed: readonly Row[];
  /** Runs the action on the objects for which the server accepts it, and closes the dialog. */
  readonly confirm: () => Promise<void>;
}

/**
 * Tries the action on all rows by a dry run when the dialog opens. The person can confirm the action once the results
 * are known.
 */
function useBulk({ resource, action, rows, onClose }: Props): Bulk {
  const [results, setResults] = useState<readonly Result[]>([]);
  const [step, setStep] = useState<Step>('trying');
  const [end] = useState(() => new AbortController());
  const run = async (chosen: readonly Row[], isDryRun: boolean): Promise<readonly Result[]> => {
    const found: Result[] = [];
    const onResult = (result: Result): void => {
      found.push(result);
      setResults([...found]);
    };
    await runAll(chosen, { resource, action, isDryRun, signal: end.signal, onResult });
    return found;
  };
  useEffect(() => {
    void run(rows, true).then(() => end.signal.aborted || setStep('tried'));
    return () => end.abort();
  }, []);
  const allowed = results.filter(({ problem }) => problem === undefined).map(({ row }) => row);
  const confirm = async (): Promise<void> => {
    setStep('doing');
    setResults([]);
    const failed = (await run(allowed, false)).filter(({ problem }) => problem !== undefined);
    if (end.signal.aborted) return;
    const [first] = failed;
    if (first === undefined) notify('good', `${formatCount(allowed.length)} ${action.done}`);
    else notify('bad', `${formatCount(failed.length)} not ${action.done}: ${first.problem}`);
    onClose();
  };
  return { step, results, refused: results.filter(({ problem }) => problem !== undefined), allowed, confirm };
}

/**
 * Shows by a dry run what an action on the selected objects would do, and takes the action when the person confirms.
 * Sends no further requests once the dialog is closed.
 */
export function BulkDialog(props: Props) {
  // The rows of the list may change while the dialog is open; the dialog keeps the rows that were selected.
  const [rows] = useState(props.rows);
  const { resource, action, onClose } = props;
  const { step, results, refused, allowed, confirm } = useBulk({ ...props, rows });
  return (
    <Dialog title={`${action.verb} ${formatCount(rows.length)} of ${resource.kind}`} onClose={onClose}>
      <Progress {...{ action, step, results }} count={rows.length} />
      <ul class="plain-list">
        {refused.slice(0, 20).map(({ row, problem }) => (
          <li key={row.key}>
            <strong>{row.name}</strong>: {problem}
          </li>
        ))}
      </ul>
      <p class="muted">{action.note}</p>
      <div class="dialog-actions">
        <button type="button" class="button" onClick={onClose}>
          {step === 'doing' ? 'Stop' : 'Cancel'}
        </button>
        <button
          type="button"
          class={`button ${action.isDangerous ? 'button-danger' : 'button-primary'}`}
          disabled={step !== 'tried' || allowed.length === 0}
          onClick={() => void confirm()}
        >
          {action.verb} {formatCount(allowed.length)}
        </button>
      </div>
    </Dialog>
  );
}

interface ProgressProps {
  readonly action: BulkAction;
  readonly step: Step;
  readonly results: readonly Result[];
  readonly count: number;
}

function Progress({ action: { verb }, step, results, count }: ProgressProps) {
  const done = formatCount(results.length);
  const refused = results.filter(({ problem }) => problem !== undefined).length;
  const texts: Readonly<Record<Step, string>> = {
    trying: `Dry run of ${done} of ${formatCount(count)} objects…`,
    tried: `The server would ${verb.toLowerCase()} ${formatCount(results.length - refused)}, and refuse ${formatCount(refused)}.`,
    doing: `${verb}: ${done} of ${formatCount(count)} objects are done…`,
  };
  return <p role="status">{texts[step]}</p>;
}
