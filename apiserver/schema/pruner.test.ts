import type { JsonSchema } from '@homeostat/controller-runtime/api';
import { expect } from 'chai';
import fc from 'fast-check';
import { compileSchema } from './compile-schema.ts';

/**
 * A simple implementation of Kubernetes' pruning of structural schemas: returns the value that remains, and collects
 * the paths of the removed fields. It does not prune metadata, whose fields have fixed names that are not in the
 * schema.
 */
class PlainPruning {
  readonly removed: string[] = [];

  prune(value: unknown, schema: JsonSchema | undefined, path: string): unknown {
    if (schema?.['x-kubernetes-preserve-unknown-fields'] === true) return this.#keep(value, schema, path);
    if (Array.isArray(value)) return value.map((item, at) => this.prune(item, schema?.items, `${path}[${at}]`));
    return this.#fields(
      value,
      (name, child, place) => {
        const declared = this.#declared(schema, name);
        if (declared !== undefined) return this.prune(child, declared, place);
        this.removed.push(place);
        return undefined;
      },
      path,
    );
  }

  /**
   * Keeps the unknown fields of a value and, if it is a list, of its items. Prunes the known fields by their own
   * schemas.
   */
  #keep(value: unknown, schema: JsonSchema | undefined, path: string): unknown {
    if (schema === undefined) return value;
    if (Array.isArray(value)) return value.map((item, at) => this.#keep(item, schema.items, `${path}[${at}]`));
    return this.#fields(
      value,
      (name, child, place) => {
        const declared = this.#declared(schema, name);
        return declared === undefined ? child : this.prune(child, declared, place);
      },
      path,
    );
  }

  #declared(schema: JsonSchema | undefined, name: string): JsonSchema | undefined {
    const additional = schema?.additionalProperties;
    return schema?.properties?.[name] ?? (typeof additional === 'object' ? additional : undefined);
  }

  #fields(value: unknown, change: (name: string, child: unknown, path: string) => unknown, path: string): unknown {
    if (typeof value !== 'object' || value === null) return value;
    const entries = Object.entries(value).map(
      ([name, child]) => [name, change(name, child, join(path, name))] as const,
    );
    return Object.fromEntries(entries.filter(([, child]) => child !== undefined));
  }
}

function join(path: string, name: string): string {
  return path === '' ? name : `${path}.${name}`;
}

const names = fc.constantFrom('a', 'b', 'c', 'd');

const values = fc.letrec((tie) => ({
  value: fc.oneof(
    { depthSize: 'medium', withCrossShrink: true },
    fc.constantFrom('text', 1, null, true),
    fc.array(tie('value'), { maxLength: 3 }),
    fc.dictionary(names, tie('value'), { maxKeys: 4, noNullPrototype: true }),
  ),
})).value;

const schemas: fc.Arbitrary<JsonSchema> = fc.letrec((tie) => {
  const preserves = { 'x-kubernetes-preserve-unknown-fields': fc.constant(true) };
  const fields = fc.dictionary(names, tie('schema'), { maxKeys: 3, noNullPrototype: true });
  return {
    schema: fc.oneof(
      { depthSize: 'medium' },
      fc.record({ type: fc.constantFrom('string', 'integer') }),
      fc.record({ type: fc.constant('object'), properties: fields, ...preserves }, { requiredKeys: ['type'] }),
      fc.record(
        { type: fc.constant('object'), additionalProperties: tie('schema'), ...preserves },
        { requiredKeys: ['type'] },
      ),
      fc.record({ type: fc.constant('array'), items: tie('schema'), ...preserves }, { requiredKeys: ['type'] }),
      fc.record(preserves),
    ),
  };
}).schema as fc.Arbitrary<JsonSchema>;

describe('Pruner', () => {
  for (const [numRuns, tier] of [
    [500, ''],
    [2000, ' [slow]'],
  ] as const)
    it(`keeps the same fields as a simple pruning by the rules of Kubernetes, and returns the paths of the removed fields${tier}`, () => {
      let removed = 0;
      let kept = 0;
      const check = (schema: JsonSchema, value: unknown): void => {
        const components = { Root: { type: 'object', properties: { v: schema } } } as const;
        const compiled = compileSchema({ schemaName: 'Root', components }, 'client');
        const plain = new PlainPruning();
        const expected = plain.prune(structuredClone(value), schema, 'v');
        const object = { v: structuredClone(value) };
        const paths = compiled.prune(object);
        removed += paths.length;
        if (JSON.stringify(schema).includes('preserve')) kept += 1;
        expect(object, JSON.stringify(schema)).to.deep.equal({ v: expected });
        expect(paths, JSON.stringify(schema)).to.deep.equal(plain.removed.slice(0, 100));
      };
      fc.assert(fc.property(schemas, values, check), { numRuns });
      expect(removed).to.be.above(numRuns / 10);
      expect(kept).to.be.above(numRuns / 10);
    });

  const item: JsonSchema = {
    type: 'object',
    properties: { a: { type: 'string' }, o: { type: 'object', properties: {} } },
  };
  const preserved = { 'x-kubernetes-preserve-unknown-fields': true } as const;

  it('keeps the unknown fields of items when their list preserves unknown fields, but prunes the objects in known fields of items', () => {
    const list: JsonSchema = { type: 'array', items: item, ...preserved };
    const schema = compileSchema({ schemaName: 'R', components: { R: { type: 'object', properties: { list } } } });
    const object = { list: [{ a: 'x', job_name: 'y', o: { unknown: 1 } }] };
    expect(schema.prune(object)).to.deep.equal(['list[0].o.unknown']);
    expect(object).to.deep.equal({ list: [{ a: 'x', job_name: 'y', o: {} }] });
  });

  it('keeps the unknown fields of items in a list of lists when the outer list preserves unknown fields', () => {
    const list: JsonSchema = { type: 'array', items: { type: 'array', items: item }, ...preserved };
    const schema = compileSchema({ schemaName: 'R', components: { R: { type: 'object', properties: { list } } } });
    const object = { list: [[{ b: 1 }], { c: 2 }] };
    expect(schema.prune(object)).to.deep.equal([]);
    expect(object).to.deep.equal({ list: [[{ b: 1 }], { c: 2 }] });
  });
});
