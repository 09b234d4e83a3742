import { textOf } from '../../base/json.ts';
import { textsIn } from '../../base/object.ts';
import type { ApiObject } from '../../base/object.ts';
import { Age, Badge, Card, Due, Text } from '../../parts/basics.tsx';
import type { ControllerInfo, ControllerKey } from '../../state/controllers.ts';
import { plugins } from '../../state/plugins.ts';
import { hrefOf } from '../../state/route.ts';
import type { Place } from '../../state/place.ts';

interface Props {
  readonly place: Place;
  readonly object: ApiObject;
  readonly controllers: readonly ControllerInfo[];
}

/**
 * Explains why an object that is being deleted still exists: each finalizer, the controller that has to remove it, and
 * the reason why the controller has not removed it yet.
 */
export function Blocked({ place, object, controllers }: Props) {
  const finalizers = textsIn(object.metadata.finalizers);
  const key = place.namespace === '' ? place.name : `${place.namespace}/${place.name}`;
  return (
    <Card title="Why this object still exists">
      <p>
        It was deleted <Age time={textOf(object.metadata.deletionTimestamp)} isSentence />, and goes away when each of
        these finalizers is removed:
      </p>
      <ul class="rows-list">
        {finalizers.map((finalizer) => {
          const owing = controllers.filter((each) => each.finalizer === finalizer);
          // A sharded controller has an entry for each shard; only one of them has the key.
          const controller = owing.find(({ keys }) => keys.some((each) => each.key === key)) ?? owing[0];
          const entry = controller?.keys.find((each) => each.key === key);
          return <Finalizer key={finalizer} finalizer={finalizer} controller={controller} entry={entry} />;
        })}
      </ul>
    </Card>
  );
}

interface FinalizerProps {
  readonly finalizer: string;
  readonly controller: ControllerInfo | undefined;
  readonly entry: ControllerKey | undefined;
}

function Finalizer({ finalizer, controller, entry }: FinalizerProps) {
  return (
    <li>
      <code>{finalizer}</code>
      <span class="grow">
        {controller === undefined ? (
          <NoController />
        ) : (
          <>
            The controller <a href={hrefOf(['controllers', controller.name])}>{controller.fullName}</a>{' '}
            {controller.status.running === false ? 'does not run. ' : ''}
            <Progress entry={entry} />
          </>
        )}
      </span>
    </li>
  );
}

function NoController() {
  const failed = [...plugins.value.values()].some(({ status }) => JSON.stringify(status ?? '').includes('"Failed"'));
  return (
    <span>
      No controller on this server removes this finalizer{failed ? '; a plugin has failed' : ''}: look at{' '}
      <a href="#/plugins">the plugins</a>, or ask the people who set it.
    </span>
  );
}

function Progress({ entry }: { readonly entry: ControllerKey | undefined }) {
  if (entry === undefined) return <span>has no work for this object at the moment, and waits for a change.</span>;
  return (
    <span>
      <Badge tone={entry.lastError === '' ? 'busy' : 'bad'}>{entry.state}</Badge>{' '}
      {entry.attempts > 0 ? `tried ${entry.attempts} ${entry.attempts === 1 ? 'time' : 'times'}, ` : ''}
      {entry.nextTime === '' ? null : (
        <>
          tries again <Due time={entry.nextTime} />
        </>
      )}
      {entry.lastError === '' ? null : (
        <span class="problem">
          {': '}
          <Text value={entry.lastError} length={400} />
        </span>
      )}
    </span>
  );
}
