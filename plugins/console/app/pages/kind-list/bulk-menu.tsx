import { useState } from 'preact/hooks';
import type { Resource } from '../../api/resources.ts';
import { formatCount } from '../../base/shown-text.ts';
import { browserClock } from '../../base/time.ts';
import { textOf } from '../../base/json.ts';
import { Dialog } from '../../parts/dialog.tsx';
import { may } from '../../state/session.ts';
import { deletion, labelling, pausing, reconcileNow, resuming } from './bulk-actions.ts';
import type { BulkAction } from './bulk-actions.ts';
import { BulkDialog } from './bulk-dialog.tsx';
import { parseLabels } from './labels.ts';
import type { Row } from './row-table.ts';

interface Props {
  readonly resource: Resource;
  readonly rows: readonly Row[];
  /** Called when an action has ended, or was cancelled. */
  readonly onEnd: () => void;
}

/** The menu of the actions that the user may take on the selected objects. */
export function BulkMenu({ resource, rows, onEnd }: Props) {
  const [action, setAction] = useState<BulkAction>();
  const [isLabelling, setLabelling] = useState(false);
  const isOffered = (verb: string): boolean => may(verb, resource) && resource.verbs.includes(verb);
  const items: readonly (readonly [title: string, act: () => void])[] = [
    ['Reconcile now…', () => setAction(reconcileNow(String(browserClock.now())))],
    ['Pause…', () => setAction(pausing)],
    ['Resume…', () => setAction(resuming)],
    ['Label…', () => setLabelling(true)],
  ];
  return (
    <>
      {rows.length > 0 && isOffered('patch') ? (
        <Menu title={`Change ${formatCount(rows.length)}`} items={items} />
      ) : null}
      {rows.length > 0 && isOffered('delete') ? (
        <button type="button" class="button button-danger" onClick={() => setAction(deletion)}>
          Delete {formatCount(rows.length)}…
        </button>
      ) : null}
      {isLabelling ? (
        <LabelDialog
          onClose={() => setLabelling(false)}
          onChosen={(chosen) => {
            setLabelling(false);
            setAction(chosen);
          }}
        />
      ) : null}
      {action === undefined ? null : (
        <BulkDialog
          {...{ resource, action, rows }}
          onClose={() => {
            setAction(undefined);
            onEnd();
          }}
        />
      )}
    </>
  );
}

interface MenuProps {
  readonly title: string;
  readonly items: readonly (readonly [title: string, act: () => void])[];
}

function Menu({ title, items }: MenuProps) {
  return (
    <details class="menu">
      <summary class="button">{title}</summary>
      <div class="menu-body">
        {items.map(([name, act]) => (
          <button
            key={name}
            type="button"
            class="menu-item"
            onClick={(event) => {
              event.currentTarget.closest('details')?.removeAttribute('open');
              act();
            }}
          >
            {name}
          </button>
        ))}
      </div>
    </details>
  );
}

function LabelDialog({
  onClose,
  onChosen,
}: {
  readonly onClose: () => void;
  readonly onChosen: (action: BulkAction) => void;
}) {
  const [problem, setProblem] = useState('');
  const submit = (event: SubmitEvent): void => {
    event.preventDefault();
    if (!(event.currentTarget instanceof HTMLFormElement)) return;
    const labels = parseLabels(textOf(new FormData(event.currentTarget).get('labels')));
    if (typeof labels === 'string') setProblem(labels);
    else onChosen(labelling(labels));
  };
  return (
    <Dialog title="Label the selected objects" onClose={onClose}>
      <form class="stack" onSubmit={submit}>
        <label class="field-label">
          Labels to set (name=value) or to remove (name-)
          <input name="labels" placeholder="team=red, old-" autofocus spellcheck={false} />
        </label>
        {problem === '' ? null : <p role="alert">{problem}</p>}
        <div class="dialog-actions">
          <button type="button" class="button" onClick={onClose}>
            Cancel
          </button>
          <button type="submit" class="button button-primary">
            Try
          </button>
        </div>
      </form>
    </Dialog>
  );
}
