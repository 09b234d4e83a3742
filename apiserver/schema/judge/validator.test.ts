import type { FieldCause, JsonSchema } from '@homeostat/controller-runtime/api';
import { expect } from 'chai';
import { oneStepPerTurn, turnsOf } from '../../turns/one-step-per-turn.test-support.ts';
import { Validator, valuesBeforeCode } from './validator.ts';

function times<T>(count: number, make: (at: number) => T): T[] {
  return Array.from({ length: count }, (_, at) => make(at));
}

function validatorOf(root: JsonSchema, origin: 'code' | 'client' = 'client'): Validator {
  return new Validator({ root, components: {}, origin });
}

function wide(count: number, schema: JsonSchema): JsonSchema {
  return { type: 'object', properties: Object.fromEntries(times(count, (at) => [`p${at}`, schema])) };
}

function messageOf(causes: readonly FieldCause[]): string {
  return causes.map(({ message }) => message).join();
}

function fieldsOf(count: number): object {
  return Object.fromEntries(times(count, (at) => [`f${at}`, at]));
}

/** Returns the number of functions that `work` compiles from text (`new Function`). */
function functionsMade(work: () => void): number {
  const original = globalThis.Function;
  let made = 0;
  globalThis.Function = new Proxy(original, {
    construct(target, texts: string[]) {
      made += 1;
      return Reflect.construct(target, texts);
    },
  });
  try {
    work();
  } finally {
    globalThis.Function = original;
  }
  return made;
}

describe('a validator', () => {
  oneStepPerTurn();

  for (const origin of ['code', 'client'] as const) {
    it(`validates an object of 5,000 properties with a schema from ${origin}`, () => {
      const validator = validatorOf(wide(5000, { type: 'string' }), origin);
      const all = Object.fromEntries(times(5000, (at) => [`p${at}`, 'x']));
      expect(validator.violations(all)).to.deep.equal([]);
      expect(validator.violations({ ...all, p4999: 1 }).map(({ field }) => field)).to.deep.equal(['p4999']);
    });
  }

  it('for a small schema from code is ready at once: whenReady is undefined', () => {
    expect(validatorOf({ type: 'string', pattern: '^a' }, 'code').whenReady).to.equal(undefined);
  });

  it('compiles a small schema when it checks the hundredth value, but only if code declares the schema, not a client', () => {
    for (const [origin, expected] of [
      ['code', [0, 0, 1, 0]],
      ['client', [0, 0, 0, 0]],
    ] as const) {
      let validator: Validator | undefined;
      const refuses = (): unknown => expect(validator?.violations(1)).to.have.length(1);
      const accepts = (): unknown => expect(validator?.violations('a')).to.deep.equal([]);
      const made = functionsMade(() => (validator = validatorOf({ type: 'string' }, origin)));
      const before = functionsMade(() => times(valuesBeforeCode - 1, (at) => (at % 2 === 0 ? accepts() : refuses())));
      const hundredth = functionsMade(accepts);
      const later = functionsMade(refuses);
      expect([made, before, hundredth, later], origin).to.deep.equal(expected);
    }
  });

  it('compiles a small schema that code declares, as soon as one value takes too much work to interpret [slow]', () => {
    const validator = validatorOf({ type: 'array', items: { anyOf: times(100, (at) => ({ const: at })) } }, 'code');
    const values = times(20_000, () => 99);
    const made = functionsMade(() => expect(validator.violations(values)).to.deep.equal([]));
    expect(made).to.equal(1);
    expect(validator.violations([100])).not.to.deep.equal([]);
  });

  it('compiles the patterns of a large schema only once, in many turns of the event loop [slow]', async () => {
    const validator = validatorOf({
      type: 'object',
      properties: Object.fromEntries(times(100, (at) => [`p${at}`, { type: 'string', pattern: `^x{0,500}${at}$` }])),
    });
    const turns = await turnsOf(() => {
      const ready = validator.whenReady?.();
      expect(validator.whenReady?.()).to.equal(ready);
      return ready;
    });
    // Many turns are expected, because the automaton of each of the hundred patterns has about a thousand states.
    expect(turns).to.be.above(40);
    expect(validator.whenReady?.()).to.equal(undefined);
    expect(validator.violations({ p7: 'xx7' })).to.deep.equal([]);
    expect(messageOf(validator.violations({ p7: 'xx8' }))).to.contain("should match '^x{0,500}7$'");
  });

  it('validates correctly even before its patterns are compiled', () => {
    const validator = validatorOf({ type: 'string', pattern: '^a' });
    expect([validator.violations('ab'), validator.violations('b').length]).to.deep.equal([[], 1]);
  });

  it('reports a violation, and does not throw, when RE2 does not support the pattern', async () => {
    const validator = validatorOf({ type: 'string', pattern: '(?=a)b' });
    await validator.whenReady?.();
    expect(messageOf(validator.violations('b'))).to.contain("should match '(?=a)b'");
  });

  it('accepts 1,000 characters for the pattern ^.{1,1000}$, the largest repetition in RE2, and refuses 1,001 characters', () => {
    const validator = validatorOf({ type: 'string', pattern: '^.{1,1000}$' });
    expect(validator.violations('x'.repeat(1000))).to.deep.equal([]);
    expect(messageOf(validator.violations('x'.repeat(1001)))).to.contain('should match');
    expect(messageOf(validator.violations('x'.repeat(1_000_000)))).to.contain('should match');
  });

  it('accepts a list of thousands of addresses that match a pattern', () => {
    const part = '([0-9]|[1-9][0-9]|1[0-9]{2}|2[0-4][0-9]|25[0-5])';
    const pattern = `^(${part}\\.){3}${part}(/([0-9]|[1-2][0-9]|3[0-2]))?$`;
    const validator = validatorOf({ type: 'array', items: { type: 'string', pattern } });
    expect(validator.violations(times(5000, (at) => `10.${at % 256}.0.${at % 200}/24`))).to.deep.equal([]);
  });

  it('looks up objects, lists and scalars in enums; the order of fields does not matter', () => {
    const validator = validatorOf({ enum: [{ a: 1, b: [2] }, [1, 2], 'x', null, 0] });
    for (const value of [{ b: [2], a: 1 }, [1, 2], 'x', null, -0])
      expect(validator.violations(value)).to.deep.equal([]);
    for (const value of [{ a: 1 }, [2, 1], 'y', 1, '{"a":1,"b":[2]}'])
      expect(validator.violations(value)).to.have.length(1);
  });

  it('reports a value as too complex when it takes more work than a write may', () => {
    const branch: JsonSchema = { anyOf: times(100, (at) => ({ const: at })) };
    const validator = validatorOf({ type: 'array', items: branch });
    expect(validator.violations(times(100, () => 99))).to.deep.equal([]);
    expect(messageOf(validator.violations(times(20_000, () => 99)))).to.contain('too complex to be checked');
  });

  for (const [origin, tier] of [
    ['code', ' [slow]'],
    ['client', ''],
  ] as const)
    it(`finds equal objects in a list with uniqueItems, and stops at the maximum work of a validation (${origin})${tier}`, () => {
      const root: JsonSchema = { type: 'array', uniqueItems: true, items: { type: 'object' } };
      const validator = validatorOf(root, origin);
      const items = (count: number, fields: number): object[] =>
        times(count, (at) => ({ ...fieldsOf(fields), last: at, of: { list: [at] } }));
      expect(validator.violations(items(2000, 3))).to.deep.equal([]);
      expect(validator.violations([...items(10, 3), ...items(1, 3)]).map(({ reason }) => reason)).to.deep.equal([
        'FieldValueDuplicate',
      ]);
      expect(validator.violations(items(16, 2000))).to.deep.equal([]);
      expect(messageOf(validator.violations(items(9000, 20)))).to.contain('too complex to be checked');
    });

  const expensive: readonly (readonly [what: string, branch: (at: number) => JsonSchema, item: () => unknown])[] = [
    ['enums of lists', (at) => ({ enum: [times(50, () => at)] }), () => times(50, () => 2000)],
    ['required fields', () => ({ required: [...times(90, (at) => `f${at}`), 'x'] }), () => fieldsOf(90)],
    ['unknown fields', () => ({ properties: { x: { type: 'string' } }, required: ['y'] }), () => fieldsOf(2000)],
    ['fields without a schema', () => ({ maxProperties: 3 }), () => fieldsOf(2000)],
    ['long texts', () => ({ pattern: '^b' }), () => 'a'.repeat(10_000)],
  ];
  for (const [what, branch, item] of expensive) {
    it(`counts the work for ${what} toward the maximum work of a validation [slow]`, () => {
      const validator = validatorOf({ type: 'array', items: { anyOf: times(2000, branch) } });
      const causes = validator.violations(times(1000, item));
      expect(messageOf(causes)).to.match(/too complex to be checked|at least one schema/);
      expect(causes.length).to.be.below(100);
    });
  }

  it('refuses a value whose validation reaches the maximum work inside `not`', () => {
    const list: JsonSchema = { type: 'array', items: { anyOf: times(100, (at) => ({ const: at })) } };
    const validator = validatorOf({ not: list });
    expect(validator.violations(times(20_000, () => 99))).to.have.length(1);
  });
});
