import { useState } from 'preact/hooks';
import { isArray, isObject, numberOf, textOf } from '../base/json.ts';
import type { JsonObject } from '../base/json.ts';
import { formatDuration } from '../base/time.ts';
import { toFailure } from '../api/failure.ts';
import type { ApiFailure } from '../api/failure.ts';
import { Age, Badge, Card, Due, Failure, Table, Text } from '../parts/basics.tsx';
import type { ControllerInfo } from '../state/controllers.ts';
import { api, mayGet } from '../state/session.ts';
import { hrefOfKey } from './key-href.ts';

interface Found {
  readonly key: string;
  /** The state of the key in the queue; undefined when the queue does not have the key. */
  readonly state: JsonObject | undefined;
  /** The last runs of the key, newest first; undefined when this server does not know the key. */
  readonly runs: readonly JsonObject[] | undefined;
}

/** Shows the state of any key by its name, because the report of a controller has only some of its keys. */
export function KeyLookup({ controller }: { readonly controller: ControllerInfo }) {
  const [found, setFound] = useState<Found>();
  const [failure, setFailure] = useState<ApiFailure>();
  const path = `/debug/controllers/${controller.fullName}`;
  if (!mayGet(`${path}/key`)) return null;
  const find = async (event: SubmitEvent): Promise<void> => {
    event.preventDefault();
    if (!(event.currentTarget instanceof HTMLFormElement)) return;
    const key = textOf(new FormData(event.currentTarget).get('key')).trim();
    try {
      setFound(await readKey(path, key));
      setFailure(undefined);
    } catch (error) {
      setFailure(toFailure(error));
    }
  };
  return (
    <Card title="State of one key">
      <form class="filters" onSubmit={(event) => void find(event)}>
        <label class="filter filter-wide">
          <span>Key</span>
          <input name="key" required placeholder="name, or namespace/name" spellcheck={false} />
        </label>
        <button class="button button-primary" type="submit">
          Find
        </button>
      </form>
      {failure === undefined ? null : <Failure failure={failure} />}
      {found === undefined || failure !== undefined ? null : <State found={found} controller={controller} />}
    </Card>
  );
}

async function readKey(path: string, key: string): Promise<Found> {
  try {
    const at = key.split('/').map(encodeURIComponent).join('/');
    const body = await api.get(`${path}/${at}`);
    const { queue, runs } = isObject(body) ? body : {};
    return { key, state: isObject(queue) ? queue : undefined, runs: isArray(runs) ? runs.filter(isObject) : [] };
  } catch (error) {
    if (toFailure(error).status !== 404) throw error;
    return { key, state: undefined, runs: undefined };
  }
}

function State({
  found: { key, state, runs },
  controller,
}: {
  readonly found: Found;
  readonly controller: ControllerInfo;
}) {
  const link = <a href={hrefOfKey(controller, key)}>{key}</a>;
  if (runs === undefined)
    return (
      <p role="status">{link} is not in the queue of this server, and has not run here since the controller started.</p>
    );
  return (
    <>
      <p role="status" class="line">
        {link}
        {state === undefined ? (
          <span>is not in the queue: there is nothing to do for it.</span>
        ) : (
          <QueueState state={state} />
        )}
      </p>
      {runs.length === 0 ? null : (
        <Table label="Last runs" titles={['Result', 'Because of', 'Duration', 'Began', 'Error']}>
          {runs.map((run) => (
            <RunRow key={textOf(run.reconcileID)} run={run} />
          ))}
        </Table>
      )}
    </>
  );
}

function QueueState({ state }: { readonly state: JsonObject }) {
  const attempts = numberOf(state.attempts);
  const nextTime = textOf(state.nextTime);
  return (
    <>
      <Badge tone={textOf(state.lastError) === '' ? 'busy' : 'bad'}>{textOf(state.state)}</Badge>
      <span class="muted">because of {reasonsOf(state)}</span>
      {attempts > 0 ? <span class="muted">{attempts} attempts without success</span> : null}
      {nextTime === '' ? null : (
        <span class="muted">
          next run <Due time={nextTime} />
        </span>
      )}
      {textOf(state.lastError) === '' ? null : (
        <span class="problem">
          <Text value={textOf(state.lastError)} length={200} />
        </span>
      )}
    </>
  );
}

function reasonsOf({ reasons }: JsonObject): string {
  const all = isArray(reasons) ? reasons.filter(isObject) : [];
  return all.map(({ type, detail }) => `${textOf(type)} ${textOf(detail)}`.trim()).join(', ');
}

function RunRow({ run }: { readonly run: JsonObject }) {
  const result = textOf(run.result);
  const error = textOf(run.error);
  return (
    <tr>
      <td>
        <Badge tone={result === 'success' ? 'good' : error === '' ? 'busy' : 'bad'}>{result}</Badge>
      </td>
      <td>{reasonsOf(run)}</td>
      <td>{formatDuration(numberOf(run.durationMs))}</td>
      <td>
        <Age time={textOf(run.startTime)} />
      </td>
      <td class="cell-long">{error === '' ? <span class="muted">–</span> : <Text value={error} length={120} />}</td>
    </tr>
  );
}
