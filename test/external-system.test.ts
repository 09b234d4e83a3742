import { expect } from 'chai';
import type { ControllerDefinition } from 'homeostat';
import { checkConvergence, ConvergenceError, createExternalSystem, FakeClock } from 'homeostat/testing';
import type { ScenarioContext } from 'homeostat/testing';
import { createDoors, issuesAgain, opensByName, swallowsErrors } from './support/models/fake-doors.ts';
import { Person } from './support/models/staff.ts';

const messageOf = (promise: Promise<unknown>): Promise<string> =>
  promise.then(
    () => 'ok',
    (error: unknown) => (error as Error).message,
  );

describe('createExternalSystem', () => {
  it('executes operations, and records each call with its arguments, outcome and run', async () => {
    const doors = createDoors();
    expect(await doors.operations.open('ada')).to.equal('card of ada');
    expect(await doors.calledBy({ reconcileID: 'r1' }).open('bob')).to.equal('card of bob');
    expect(doors.calls).to.deep.equal([
      { operation: 'open', args: ['ada'], outcome: 'ok' },
      { operation: 'open', args: ['bob'], outcome: 'ok', reconcileID: 'r1' },
    ]);
    doors.state().cards.clear();
    expect([...doors.state().cards.keys()], 'a copy was cleared').to.deep.equal(['ada', 'bob']);
  });

  it('records the error that an operation throws', async () => {
    const system = createExternalSystem({
      initialState: () => ({}),
      operations: {
        refuse: () => {
          throw new Error('no such size');
        },
      },
    });
    expect(await messageOf(system.operations.refuse())).to.equal('no such size');
    expect(system.calls.map(({ outcome }) => outcome)).to.deep.equal(['error']);
  });

  it('can fail a call before the operation, or lose its response after the operation', async () => {
    const doors = createDoors();
    doors.inject({ kind: 'loseAnswer' }, ({ args }) => args[0] === 'bob');
    doors.inject({ kind: 'fail', error: new Error('no') });
    expect(await messageOf(doors.operations.open('ada'))).to.equal('no');
    expect(await messageOf(doors.operations.open('bob'))).to.equal('doors: open has lost its response (injected)');
    expect([...doors.state().cards.keys()]).to.deep.equal(['bob']);
    expect(doors.calls.map(({ fault }) => fault)).to.deep.equal(['fail', 'loseAnswer']);
    expect(await messageOf(doors.operations.open('ada'))).to.equal('ok');
  });

  it('can delay a call until a promise is settled, or for some milliseconds on the clock', async () => {
    const clock = new FakeClock();
    const doors = createDoors();
    doors.reset({ clock });
    let failGate = (_error: Error): void => {};
    const gate = new Promise<void>((_resolve, reject) => (failGate = reject));
    doors.inject({ kind: 'delay', until: gate });
    doors.inject({ kind: 'delay', forMs: 1000 });
    const both = [doors.operations.open('ada'), doors.operations.open('bob')];
    await clock.advance(999);
    expect(doors.state().cards.size).to.equal(0);
    failGate(new Error('any end will do'));
    await clock.advance(1);
    expect(await Promise.all(both)).to.deep.equal(['card of ada', 'card of bob']);
  });

  it('rejects all calls while it is down', async () => {
    const doors = createDoors();
    const bringUp = doors.takeDown();
    const bringUpToo = doors.takeDown();
    bringUp();
    expect(await messageOf(doors.operations.open('ada'))).to.equal('doors: open is down (injected)');
    bringUpToo();
    expect(await messageOf(doors.operations.open('ada'))).to.equal('ok');
    expect(doors.calls.map(({ fault }) => fault)).to.deep.equal(['down', undefined]);
  });

  it('starts with a new state after a reset; an operation delayed since before the reset does not change the new state', async () => {
    const clock = new FakeClock();
    const doors = createDoors();
    doors.reset({ clock });
    doors.inject({ kind: 'delay', forMs: 1000 });
    const delayed = doors.operations.open('ada');
    doors.takeDown();
    doors.inject({ kind: 'fail' });
    doors.reset();
    await clock.advance(1000);
    expect(await delayed).to.equal('card of ada');
    expect(doors.state().cards.size).to.equal(0);
    expect(doors.calls).to.deep.equal([]);
    expect(await messageOf(doors.operations.open('bob'))).to.equal('ok');
  });
});

describe('checkConvergence with external systems', () => {
  const comeAndGo = async ({ client, settle }: ScenarioContext): Promise<void> => {
    await client.create(Person, { metadata: { name: 'ada' }, spec: { name: 'Ada' } });
    await settle();
    await client.create(Person, { metadata: { name: 'bob' }, spec: { name: 'Bob' } });
    await settle();
    await client.delete(Person, 'bob');
  };
  const check = (make: (doors: ReturnType<typeof createDoors>) => ControllerDefinition) => {
    const doors = createDoors();
    return checkConvergence({
      controllers: [make(doors)],
      externalSystems: [doors],
      scenario: comeAndGo,
      seeds: 0,
    });
  };
  const failureOf = async (promise: Promise<unknown>): Promise<ConvergenceError> => {
    const error: unknown = await promise.catch((thrown: unknown) => thrown);
    if (!(error instanceof ConvergenceError)) throw error ?? new Error('it converged');
    return error;
  };

  it('finds effects that happen twice after a lost response, and reports the difference', async () => {
    const error = await failureOf(check(issuesAgain));
    expect(error.message).to.match(/call \d|write \d/);
    expect(error.differences.map(({ object }) => object)).to.include('external system "doors"');
    expect(error.differences.map(({ path, expected }) => `${path} ${String(expected)}`)).to.include(
      'cards.ada 2 undefined',
    );
  });

  it('finds a controller that ignores the failure of a call, although no fault of a write reveals this [slow]', async () => {
    const error = await failureOf(check(swallowsErrors));
    expect(error.faults).to.have.length(1);
    expect(error.faults[0]).to.match(/^failure of call \d+, close of external system "doors"$/);
    expect(error.message).to.include('external system "doors", cards.bob: expected nothing, found "open"');
  });

  it('accepts a controller whose calls may be repeated, and injects two faults into each call [slow]', async () => {
    const { faults } = await check(opensByName);
    const doors = createDoors();
    const without = await checkConvergence({
      controllers: [opensByName(doors)],
      scenario: comeAndGo,
      seeds: 0,
      beforeRun: () => doors.reset(),
    });
    expect(faults - without.faults).to.be.at.least(6);
  });

  it('refuses two systems with the same name', async () => {
    const both = checkConvergence({
      controllers: [opensByName(createDoors())],
      externalSystems: [createDoors(), createDoors()],
      scenario: comeAndGo,
    });
    expect(await messageOf(both)).to.equal('externalSystems has "doors" twice: give each system its own name');
  });
});
