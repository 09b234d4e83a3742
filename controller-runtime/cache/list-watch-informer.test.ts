import { expect } from 'chai';
import { ApiError } from '../api/index.ts';
import type { WatchEvent } from '../api/index.ts';
import { Badge, Person, person } from '../client/example-person.fixture.ts';
import { RecordingClock } from '../client/recording-clock.fixture.ts';
import { createRecordingLogger } from '../client/recording-logger.fixture.ts';
import { eventually } from '../testing/eventually.ts';
import type { Informer, InformerHandler } from '../client/informer.ts';
import { createInformer } from './list-watch-informer.ts';
import { ScriptedSource } from './scripted-source.fixture.ts';

const gone = new ApiError('Expired', 'too old resource version');
const down = new ApiError('ServiceUnavailable', 'no connection');

const bookmark = (resourceVersion: string): WatchEvent<Person> => ({
  type: 'BOOKMARK',
  object: { apiVersion: 'people.example.com/v1alpha1', kind: 'Person', metadata: { resourceVersion } },
});

const recorder = (): { seen: string[]; handler: InformerHandler<Person> } => {
  const seen: string[] = [];
  const at = (object: Person) => `${object.metadata.name}@${object.metadata.resourceVersion}`;
  return {
    seen,
    handler: {
      onAdd: (object, { initial }) => void seen.push(`${initial ? 'initial' : 'add'} ${at(object)}`),
      onUpdate: (previous, object) => void seen.push(`update ${at(previous)} ${at(object)}`),
      onDelete: (object) => void seen.push(`delete ${at(object)}`),
    },
  };
};

describe('an informer over list and watch', () => {
  let clock: RecordingClock;
  let logger: ReturnType<typeof createRecordingLogger>;
  let source: ScriptedSource;
  let informer: Informer<Person>;
  let stop: AbortController;
  let running: Promise<void>;

  beforeEach(() => {
    clock = new RecordingClock();
    logger = createRecordingLogger();
    source = new ScriptedSource();
    stop = new AbortController();
    running = Promise.resolve();
    informer = createInformer({ client: source, model: Person, selection: {}, clock, logger, random: () => 1 });
  });

  afterEach(async () => {
    stop.abort();
    await running;
    expect(source.active).to.equal(0);
    expect(clock.pendingTimers).to.equal(0);
  });

  const run = () => void (running = informer.run(stop.signal));

  const passDelay = async (delayMs: number): Promise<void> => {
    await eventually(() => clock.delaysMs.includes(delayMs), { describe: () => `${delayMs} in ${clock.delaysMs}` });
    clock.delaysMs.length = 0;
    await clock.advance(delayMs);
  };

  it('lists the objects in chunks of one revision, and watches from that revision', async () => {
    source.answerList('9', [person('a', '3')], 'more');
    source.answerList('9', [person('b', '5')]);
    run();
    await eventually(() => source.calls.length === 3);
    expect(source.calls).to.deep.equal(['list', 'list more', 'watch 9']);
    expect(informer.list().map((object) => object.metadata.name)).to.deep.equal(['a', 'b']);
    expect(informer.get({ name: 'b' })?.metadata.resourceVersion).to.equal('5');
    expect(informer.resourceVersion).to.equal('9');
  });

  it('is empty, has revision 0 and is not synced before the first list', () => {
    expect(informer.resourceVersion).to.equal('0');
    expect(informer.list()).to.deep.equal([]);
    expect(informer.hasSynced()).to.equal(false);
  });

  it('calls handlers for each change in order, and not for bookmarks', async () => {
    const { seen, handler } = recorder();
    informer.addHandler(handler);
    source.answerList('9', [person('a', '3')]);
    const watch = source.nextWatch();
    run();
    watch.emit({ type: 'ADDED', object: person('b', '10') });
    watch.emit(bookmark('12'));
    watch.emit({ type: 'MODIFIED', object: person('a', '13') });
    watch.emit({ type: 'DELETED', object: person('b', '14') });
    await eventually(() => seen.length === 4);
    expect(seen).to.deep.equal(['initial a@3', 'add b@10', 'update a@3 a@13', 'delete b@14']);
    expect(informer.resourceVersion).to.equal('14');
    watch.emit(bookmark('20'));
    await eventually(() => informer.resourceVersion === '20');
    expect(seen).to.have.length(4);
  });

  it('when its signal aborts, ends after ten seconds even if a handler never settles', async () => {
    const never: InformerHandler<Person> = { onAdd: () => new Promise<never>(() => {}) as unknown as undefined };
    informer.addHandler(never);
    source.answerList('9', [person('a', '3')]);
    run();
    await eventually(() => informer.hasSynced() && source.active === 1);
    let hasEnded = false;
    void running.then(() => (hasEnded = true));
    stop.abort();
    await passDelay(10_000);
    await eventually(() => hasEnded);
    const fields = { kind: 'Person', handlers: 1, waitedMs: 10_000 };
    const message = 'handlers of an informer did not settle; the informer stops without waiting longer';
    expect(logger.entries).to.deep.equal([{ level: 'warn', fields, message }]);
  });

  it('resumes at the last revision, without a new list, when the server ends a watch', async () => {
    source.answerList('9', []);
    const first = source.nextWatch();
    run();
    first.emit(bookmark('12'));
    first.end();
    await eventually(() => source.calls.length === 3);
    expect(source.calls).to.deep.equal(['list', 'watch 9', 'watch 12']);
  });

  it('backs off when watches end as soon as they begin', async () => {
    source.answerList('9', []);
    source.nextWatch().end();
    run();
    await passDelay(800);
    await eventually(() => source.calls.length === 3);
    expect(source.calls).to.deep.equal(['list', 'watch 9', 'watch 9']);
  });

  it('backs off when a watch fails, and then watches from the last revision without a new list', async () => {
    source.answerList('9', []);
    const first = source.nextWatch();
    source.nextWatch().fail(down);
    run();
    first.emit(bookmark('12'));
    first.fail(down);
    await passDelay(800);
    await passDelay(1600);
    await eventually(() => source.calls.length === 4);
    expect(source.calls).to.deep.equal(['list', 'watch 9', 'watch 12', 'watch 12']);
  });

  it('waits before it retries: half of the back-off, and a random part of the other half', async () => {
    const answers = [0, 0.5];
    const random = (): number => answers.shift() ?? 1;
    informer = createInformer({ client: source, model: Person, selection: {}, clock, logger, random });
    source.answerList('9', []);
    const watches = [source.nextWatch(), source.nextWatch(), source.nextWatch()];
    run();
    for (const [index, delayMs] of [400, 1200, 3200].entries()) {
      await eventually(() => source.calls.length === 2 + index);
      watches[index]?.fail(down);
      await passDelay(delayMs);
    }
  });

  it('resets its back-off after two minutes without a failure', async () => {
    source.answerList('9', []);
    source.nextWatch().fail(down);
    const second = source.nextWatch();
    run();
    await passDelay(800);
    await eventually(() => source.calls.length === 3);
    await clock.advance(120_001);
    second.fail(down);
    await passDelay(800);
    await eventually(() => source.calls.length === 4);
  });

  it('backs off after a list that failed, and then lists again', async () => {
    source.failList(down);
    source.answerList('9', []);
    run();
    await passDelay(800);
    await eventually(() => informer.hasSynced());
    expect(logger.entries.map(({ level }) => level)).to.deep.equal(['warn']);
  });

  it('lists again at once when the history is gone, and reports the differences', async () => {
    const { seen, handler } = recorder();
    informer.addHandler(handler);
    source.answerList('9', [person('same', '1'), person('changed', '2'), person('gone', '3')]);
    source.answerList('30', [person('same', '1'), person('changed', '22'), person('new', '23')]);
    source.nextWatch().fail(gone);
    run();
    await eventually(() => source.calls.length === 4);
    expect(source.calls).to.deep.equal(['list', 'watch 9', 'list', 'watch 30']);
    await eventually(() => seen.length === 6);
    expect(seen.slice(3)).to.deep.equal(['update changed@2 changed@22', 'add new@23', 'delete gone@3']);
    expect(informer.list()).to.have.length(3);
  });

  it('backs off when the history is gone again before any event arrives', async () => {
    source.answerList('9', []);
    source.answerList('30', []);
    source.answerList('31', []);
    source.nextWatch().fail(gone);
    source.nextWatch().fail(gone);
    run();
    await passDelay(800);
    await eventually(() => source.calls.length === 6);
    expect(source.calls.slice(2)).to.deep.equal(['list', 'watch 30', 'list', 'watch 31']);
  });

  it('reports a deletion and an addition when an object was replaced by another of the same name between two lists', async () => {
    const { seen, handler } = recorder();
    informer.addHandler(handler);
    const old = person('a', '3');
    source.answerList('9', [old]);
    source.answerList('30', [{ ...old, metadata: { ...old.metadata, uid: 'another', resourceVersion: '25' } }]);
    source.nextWatch().fail(gone);
    run();
    await eventually(() => seen.length === 3);
    expect(seen).to.deep.equal(['initial a@3', 'delete a@3', 'add a@25']);
  });

  it('delivers the existing objects to a late handler first; the handler has synced when it has received them all', async () => {
    source.answerList('9', [person('a', '3')]);
    const watch = source.nextWatch();
    run();
    await eventually(() => informer.hasSynced());
    const { seen, handler } = recorder();
    const registration = informer.addHandler(handler);
    expect(registration.hasSynced()).to.equal(false);
    expect(registration.isIdle()).to.equal(false);
    watch.emit({ type: 'ADDED', object: person('b', '10') });
    await eventually(() => seen.length === 2);
    expect(seen).to.deep.equal(['initial a@3', 'add b@10']);
    expect(registration.hasSynced()).to.equal(true);
  });

  it('marks a handler of an empty kind as synced', async () => {
    const registration = informer.addHandler({});
    source.answerList('9', []);
    run();
    await eventually(() => registration.hasSynced() && registration.isIdle());
  });

  it('reports the error of a handler that throws, and delivers later events to this handler and to the others', async () => {
    const { seen, handler } = recorder();
    let calls = 0;
    informer.addHandler({
      onAdd: () => {
        calls += 1;
        throw new Error('handler bug');
      },
    });
    informer.addHandler(handler);
    source.answerList('9', [person('a', '3'), person('b', '4')]);
    run();
    await eventually(() => seen.length === 2 && calls === 2);
    expect(logger.entries.map(({ fields }) => String(fields['err']))).to.deep.equal([
      'Error: handler bug',
      'Error: handler bug',
    ]);
  });

  it('does not call a removed handler', async () => {
    const { seen, handler } = recorder();
    const other = recorder();
    const registration = informer.addHandler(handler);
    informer.addHandler(other.handler);
    source.answerList('9', [person('a', '3')]);
    const watch = source.nextWatch();
    run();
    await eventually(() => seen.length === 1);
    registration.remove();
    watch.emit({ type: 'ADDED', object: person('b', '10') });
    await eventually(() => other.seen.length === 2);
    expect(seen).to.have.length(1);
  });

  it('runs once for several callers, until the last of them aborts', async () => {
    source.answerList('9', []);
    const watch = source.nextWatch();
    run();
    const second = new AbortController();
    const secondRun = informer.run(second.signal);
    await eventually(() => source.active === 1);
    stop.abort();
    await running;
    watch.emit({ type: 'ADDED', object: person('b', '10') });
    await eventually(() => informer.get({ name: 'b' }));
    second.abort();
    await secondRun;
    expect(source.active).to.equal(0);
    expect(source.calls).to.deep.equal(['list', 'watch 9']);
  });

  it('after a stop, settles the promise of run() only when the handlers have received all listed objects', async () => {
    const { seen, handler } = recorder();
    informer.addHandler(handler);
    source.answerList(
      '9',
      Array.from({ length: 500 }, (_, index) => person(`p${index}`, `${index + 1}`)),
    );
    run();
    await eventually(() => informer.hasSynced());
    stop.abort();
    await running;
    expect(seen).to.have.length(500);
  });

  it('lists the objects again when it is run again, and reports the differences', async () => {
    const { seen, handler } = recorder();
    informer.addHandler(handler);
    source.answerList('9', [person('a', '3'), person('b', '4')]);
    run();
    await eventually(() => seen.length === 2);
    stop.abort();
    await running;
    source.answerList('20', [person('a', '15')]);
    stop = new AbortController();
    run();
    await eventually(() => seen.length === 4);
    expect(seen.slice(2)).to.deep.equal(['update a@3 a@15', 'delete b@4']);
  });

  it('calls a handler with all objects again after each of the handler’s resync periods, while the informer runs', async () => {
    const often = recorder();
    const seldom = recorder();
    informer.addHandler(often.handler, { resyncMs: 1000 });
    informer.addHandler(seldom.handler, { resyncMs: 2500 });
    source.answerList('9', [person('a', '3')]);
    run();
    await eventually(() => often.seen.length === 1);
    await clock.advance(2000);
    await eventually(() => often.seen.length === 3);
    expect(seldom.seen).to.deep.equal(['initial a@3']);
    await clock.advance(500);
    await eventually(() => seldom.seen.length === 2);
    expect(often.seen).to.deep.equal(['initial a@3', 'update a@3 a@3', 'update a@3 a@3']);
    expect(seldom.seen).to.deep.equal(['initial a@3', 'update a@3 a@3']);
    stop.abort();
    await running;
    await clock.advance(10_000);
    expect(often.seen).to.have.length(3);
  });

  describe('that follows several namespaces', () => {
    const followed = (): Informer<Badge> => {
      const parts = { client: source, clock, logger, random: () => 1 };
      return createInformer({ ...parts, model: Badge, selection: { namespaces: ['x', 'y'] } });
    };

    it('has as resourceVersion the lowest revision that its lists and watches of these namespaces have reached', async () => {
      source.answerList('9', []);
      source.answerList('12', []);
      const first = source.nextWatch();
      const badges = followed();
      running = badges.run(stop.signal);
      await eventually(() => badges.hasSynced());
      expect(badges.resourceVersion).to.equal('9');
      first.emit(bookmark('15'));
      await eventually(() => badges.resourceVersion === '12');
    });

    it('reports that it and its handlers have synced only after it has listed all namespaces', async () => {
      source.answerList('9', []);
      source.failList(down);
      const badges = followed();
      const registration = badges.addHandler({});
      running = badges.run(stop.signal);
      await eventually(() => clock.delaysMs.includes(800));
      expect([badges.hasSynced(), registration.hasSynced()]).to.deep.equal([false, false]);
      source.answerList('12', []);
      await passDelay(800);
      await eventually(() => badges.hasSynced() && registration.hasSynced());
    });
  });
});
