import { expect } from 'chai';
import { controllerFor } from './controller-builder.ts';
import { controller, type ControllerOptions } from './controller-definition.ts';
import { on } from './followed-kind.ts';
import { Badge, Person, Team } from '../harness.test-support.ts';

describe('the declaration of a controller', () => {
  const reconcile = (): void => {};

  it('has the defaults, and is frozen', () => {
    const definition = controller(Person, { reconcile });
    expect(definition).to.include({ name: 'person', concurrency: 4, timeoutMs: 120_000, retryLimit: Infinity });
    expect(definition.finalizer).to.equal('people.example.com/person');
    expect(Object.isFrozen(definition)).to.equal(true);
  });

  it('is the same with the builder as with an object of options', () => {
    const map = (): string[] => [];
    const built = controllerFor(Person)
      .owns(Badge)
      .watches(Team, map)
      .with({ name: 'x', retryLimit: 3 })
      .cleanup(reconcile)
      .reconcile(reconcile);
    const declared = controller(Person, {
      owns: [Badge],
      watches: [on(Team, map)],
      name: 'x',
      retryLimit: 3,
      cleanup: reconcile,
      reconcile,
    });
    const comparable = ({ reconcile: _reconcile, cleanup: _cleanup, ...rest }: typeof built): object => rest;
    expect(comparable(built)).to.deep.equal(comparable(declared));
    expect(built.cleanup).to.be.a('function');
  });

  it('an invalid option is refused, with an error that names it', () => {
    const bad: readonly (readonly [Partial<Record<keyof ControllerOptions, unknown>>, string])[] = [
      [{ name: 'Not A Name' }, 'controller name "Not A Name"'],
      [{ concurrency: 0 }, 'concurrency'],
      [{ concurrency: 1.5 }, 'concurrency'],
      [{ shards: 0 }, 'controller "person": shards must be a whole number from 1 to 256, not 0'],
      [{ shards: 257 }, 'shards must be a whole number from 1 to 256, not 257'],
      [{ shards: 1.5 }, 'not 1.5'],
      [{ shards: '16' }, 'not "16"'],
      [{ retryLimit: -1 }, 'retryLimit'],
      [{ hotLoopRunsPerMinute: 0 }, 'hotLoopRunsPerMinute'],
      [{ timeoutMs: 'soon' }, 'timeoutMs: "soon" is not a duration'],
      [{ reconcile: undefined }, 'reconcile must be'],
      [{ cleanup: 'x' }, 'cleanup must be'],
      [{ backoff: { baseMS: 5 } }, 'backoff: unknown key "baseMS". Did you mean "baseMs"?'],
      [{ reconcile: { reconcile }, cleanup: reconcile }, 'handles its finalizers itself'],
    ];
    for (const [options, message] of bad) {
      expect(() => controller(Person, { reconcile, ...options } as never), message).to.throw(message);
    }
  });

  it('an unknown option is refused, with an error that suggests the right one', () => {
    expect(() => controller(Person, { reconcile, concurency: 2 } as never)).to.throw(
      TypeError,
      'controller "person": unknown key "concurency". Did you mean "concurrency"?',
    );
  });

  it('calls methods of the options object with that object as `this`', () => {
    class Greeter {
      readonly greeting = 'hi';
      said = '';
      reconcile(): void {
        this.said = this.greeting;
      }
    }
    const greeter = new Greeter();
    const definition = controller(Person, greeter);
    if (typeof definition.reconcile === 'function') void definition.reconcile({} as never);
    expect(greeter.said).to.equal('hi');
  });
});
