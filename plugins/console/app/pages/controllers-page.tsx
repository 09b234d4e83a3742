import { isObject, numberOf, textOf } from '../base/json.ts';
import { formatCount } from '../base/shown-text.ts';
import { formatDuration } from '../base/time.ts';
import { Age, Badge, Card, Due, Empty, Failure, PageHead, Text } from '../parts/basics.tsx';
import { Chart, useSamples } from '../parts/chart.tsx';
import { failingOf, mayFollowControllers, titleOf, useControllers } from '../state/controllers.ts';
import type { ControllerInfo, ControllerKey } from '../state/controllers.ts';
import { hrefOf, route } from '../state/route.ts';
import { KeyLookup } from './key-lookup.tsx';
import { hrefOfKey } from './key-href.ts';

/** The page of all controllers with their queues, or of one controller with its keys. */
export function ControllersPage() {
  const { list, state } = useControllers();
  const [, name] = route.value.segments;
  const chosen = list?.find((each) => each.name === name);
  if (chosen !== undefined) return <ControllerPage controller={chosen} />;
  if (list !== undefined && name !== undefined) return <NoController name={name} />;
  return (
    <div class="page">
      <PageHead title="Controllers" />
      {state.kind === 'refused' ? <Failure failure={state.failure} /> : null}
      {mayFollowControllers() ? null : (
        <Empty title="You may not read the controllers">Ask an administrator for a role with this permission.</Empty>
      )}
      {list?.length === 0 ? (
        <Empty title="No controller runs">
          A plugin brings controllers with its kinds. They appear here when they start.
        </Empty>
      ) : null}
      {list === undefined || list.length === 0 ? null : <Table list={list} />}
    </div>
  );
}

function NoController({ name }: { readonly name: string }) {
  return (
    <div class="page">
      <PageHead title={name} />
      <Empty title="There is no controller of this name">
        <p>
          Perhaps its plugin is not running. <a href="#/controllers">See all controllers</a>
        </p>
      </Empty>
    </div>
  );
}

const states = ['ready', 'processing', 'delayed', 'failing', 'parked', 'paused'] as const;

function Table({ list }: { readonly list: readonly ControllerInfo[] }) {
  return (
    <div class="card scroll-x">
      <table class="table">
        <thead>
          <tr>
            <th>Controller</th>
            <th>Kind</th>
            {states.map((each) => (
              <th key={each} class="number">
                {each}
              </th>
            ))}
            <th class="number">runs/s</th>
            <th class="number">run p50</th>
            <th class="number">run p99</th>
            <th class="number">wait p99</th>
          </tr>
        </thead>
        <tbody>
          {list.map((each) => (
            <ControllerRow key={each.name} controller={each} />
          ))}
        </tbody>
      </table>
    </div>
  );
}

function ControllerRow({ controller }: { readonly controller: ControllerInfo }) {
  const { status } = controller;
  const queue = isObject(status.queue) ? status.queue : {};
  const rates = isObject(status.rates) ? status.rates : {};
  const times = isObject(status.durationMs) ? status.durationMs : undefined;
  const waits = isObject(status.waitMs) ? status.waitMs : undefined;
  return (
    <tr>
      <td>
        <a href={hrefOf(['controllers', controller.name])}>{titleOf(controller)}</a>{' '}
        {status.running === false ? <Badge tone="quiet">stopped</Badge> : null}
        {textOf(status.problem) === '' ? null : <Badge tone="bad">{textOf(status.problem)}</Badge>}
      </td>
      <td>{controller.kind}</td>
      {states.map((each) => (
        <td key={each} class={each === 'failing' && numberOf(queue[each]) > 0 ? 'number problem' : 'number'}>
          {formatCount(numberOf(queue[each]))}
        </td>
      ))}
      <td class="number">{numberOf(rates.runs).toFixed(1)}</td>
      <td class="number">{times === undefined ? '–' : formatDuration(numberOf(times.p50))}</td>
      <td class="number">{times === undefined ? '–' : formatDuration(numberOf(times.p99))}</td>
      <td class="number">{waits === undefined ? '–' : formatDuration(numberOf(waits.p99))}</td>
    </tr>
  );
}

function ControllerPage({ controller }: { readonly controller: ControllerInfo }) {
  const { status, keys } = controller;
  const leader = isObject(status.leader) ? status.leader : undefined;
  const runs = isObject(status.runs) ? Object.entries(status.runs) : [];
  return (
    <div class="page">
      <p class="crumbs">
        <a href="#/controllers">Controllers</a>
      </p>
      <PageHead title={titleOf(controller)}>
        <Badge tone={failingOf(controller) > 0 ? 'bad' : 'good'}>
          {failingOf(controller) > 0 ? `${failingOf(controller)} failing` : 'nothing fails'}
        </Badge>
      </PageHead>
      <div class="columns">
        <div class="stack">
          <Keys controller={controller} keys={keys} />
          <KeyLookup controller={controller} />
        </div>
        <div class="stack">
          <Charts controller={controller} />
          <Card title="About">
            <p>
              Reconciles {controller.kind}, {controller.concurrency} at a time.
              {controller.finalizer === '' ? '' : ` Its finalizer is ${controller.finalizer}.`}
            </p>
            {leader === undefined ? null : (
              <p>
                Leader: <code>{textOf(leader.identity)}</code>, term {numberOf(leader.term)}
              </p>
            )}
            <p class="line">
              {runs.map(([result, count]) => (
                <span key={result}>
                  {formatCount(numberOf(count))} {result}
                </span>
              ))}
            </p>
            <p class="muted">
              Reported <Age time={textOf(status.reportTime)} isSentence />
            </p>
          </Card>
        </div>
      </div>
    </div>
  );
}

/**
 * Charts of the controller since the page was opened: runs and errors per second, and how long runs take and keys wait
 * in the queue.
 */
function Charts({ controller }: { readonly controller: ControllerInfo }) {
  const { status } = controller;
  const rates = isObject(status.rates) ? status.rates : {};
  const duration = isObject(status.durationMs) ? status.durationMs : {};
  const wait = isObject(status.waitMs) ? status.waitMs : {};
  const stamp = textOf(status.reportTime);
  const perSecond = useSamples(stamp, [numberOf(rates.runs), numberOf(rates.errors)]);
  const times = useSamples(stamp, [duration.p50, duration.p99, wait.p50, wait.p99].map(numberOf));
  return (
    <Card title="Rates and times">
      <Chart samples={perSecond} labels={['runs/s', 'errors/s']} />
      <Chart samples={times} labels={['run p50 ms', 'run p99 ms', 'wait p50 ms', 'wait p99 ms']} />
    </Card>
  );
}

function Keys({ controller, keys }: { readonly controller: ControllerInfo; readonly keys: readonly ControllerKey[] }) {
  return (
    <Card title="Queue">
      {keys.length === 0 ? <p class="muted">The queue is empty: no object needs to be reconciled.</p> : null}
      <ul class="rows-list">
        {keys.map((entry) => (
          <li key={entry.key}>
            <Badge tone={toneOf(entry)}>{entry.state}</Badge>
            <a href={hrefOfKey(controller, entry.key)}>{entry.key}</a>
            <span class="grow" />
            {entry.attempts > 0 ? <span class="muted">{entry.attempts} attempts</span> : null}
            {entry.nextTime === '' ? null : (
              <span class="muted">
                next run <Due time={entry.nextTime} />
              </span>
            )}
            {entry.lastError === '' ? null : (
              <span class="below problem">
                <Text value={entry.lastError} length={200} />
              </span>
            )}
          </li>
        ))}
      </ul>
    </Card>
  );
}

function toneOf({ lastError, state }: ControllerKey): 'bad' | 'busy' | 'quiet' {
  if (lastError !== '') return 'bad';
  return state === 'delayed' ? 'quiet' : 'busy';
}
