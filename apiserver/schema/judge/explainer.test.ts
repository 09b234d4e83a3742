import type { JsonSchema } from '@homeostat/controller-runtime/api';
import { expect } from 'chai';
import fc from 'fast-check';
import { Explainer } from './explainer.ts';
import { InterpretedGate } from './interpreted-gate.ts';
import { LinearPatterns } from './linear-pattern.ts';
import { SchemaNodes } from './schema-node.ts';
import { compileGate } from './value-gate.ts';

const names = fc.constantFrom('a', 'b', 'constructor');
const small = fc.integer({ min: 0, max: 3 });
const scalars = fc.oneof(
  fc.constantFrom('', 'a', 'bb', '💩', 'a@b', '2024-01-01'),
  fc.integer({ min: -2, max: 4 }),
  fc.constantFrom(0.5, null, true, 2 ** 53, -(2 ** 53)),
);

const values = fc.letrec((tie) => ({
  value: fc.oneof(
    { depthSize: 'small', withCrossShrink: true },
    scalars,
    fc.array(tie('value'), { maxLength: 4 }),
    fc.dictionary(names, tie('value'), { maxKeys: 3, noNullPrototype: true }),
  ),
})).value;

const schemas: fc.Arbitrary<JsonSchema> = fc.letrec((tie) => {
  const child = tie('schema');
  const branches = fc.array(child, { minLength: 1, maxLength: 2 });
  const scalarRules = {
    type: fc.constantFrom('object', 'array', 'string', 'integer', 'number', 'boolean'),
    nullable: fc.boolean(),
    enum: fc.array(values, { minLength: 1, maxLength: 3 }),
    const: scalars,
    minimum: small,
    maximum: small,
    exclusiveMinimum: fc.oneof(fc.boolean(), small),
    exclusiveMaximum: fc.oneof(fc.boolean(), small),
    multipleOf: fc.constantFrom(0.5, 2),
    minLength: small,
    maxLength: small,
    pattern: fc.constantFrom('^a', 'b$'),
    format: fc.constantFrom('date', 'email', 'unheard-of'),
    'x-kubernetes-int-or-string': fc.boolean(),
  };
  const containerRules = {
    type: fc.constantFrom('object', 'array'),
    nullable: fc.boolean(),
    minItems: small,
    maxItems: small,
    uniqueItems: fc.boolean(),
    'x-kubernetes-list-type': fc.constantFrom('set', 'map', 'atomic'),
    'x-kubernetes-list-map-keys': fc.constant(['a']),
    'x-kubernetes-embedded-resource': fc.boolean(),
    minProperties: small,
    maxProperties: small,
    required: fc.uniqueArray(names, { minLength: 1, maxLength: 2 }),
    items: child,
    properties: fc.dictionary(names, child, { maxKeys: 2, noNullPrototype: true }),
    additionalProperties: fc.oneof(fc.boolean(), child),
  };
  const combinedRules = {
    allOf: branches,
    anyOf: branches,
    oneOf: branches,
    not: child,
    nullable: fc.boolean(),
    $ref: fc.constant('#/components/schemas/Self'),
  };
  return {
    schema: fc.oneof(
      { depthSize: 'small' },
      fc.record(scalarRules, { requiredKeys: [] }),
      fc.record(containerRules, { requiredKeys: [] }),
      fc.record(combinedRules, { requiredKeys: [] }),
    ),
  };
}).schema as fc.Arbitrary<JsonSchema>;

/**
 * Returns true for a schema with a reference that applies to the same value, and not to a field or item of it. In these
 * tests, references lead back to the same schema, so its check would never end. Models with such a schema are refused.
 */
function refersAtOnce(schema: JsonSchema): boolean {
  const { $ref, allOf = [], anyOf = [], oneOf = [], not } = schema;
  return $ref !== undefined || [...allOf, ...anyOf, ...oneOf, ...(not === undefined ? [] : [not])].some(refersAtOnce);
}

describe('Explainer', () => {
  for (const [numRuns, tier] of [
    [10, ''],
    [150, ' [slow]'],
  ] as const) {
    it(`finds a violation exactly when the compiled check and the interpreted check refuse the value${tier}`, () => {
      let refused = 0;
      fc.assert(
        fc.property(schemas, fc.array(values, { minLength: 4, maxLength: 8 }), (schema, candidates) => {
          fc.pre(!refersAtOnce(schema));
          const parts = { components: { Self: schema }, patterns: new LinearPatterns() };
          const node = new SchemaNodes(parts.components).of(schema);
          const isValid = compileGate(schema, parts);
          const interpreted = new InterpretedGate(node, parts.patterns);
          const explainer = new Explainer(node, parts.patterns);
          for (const value of candidates) {
            const valid = isValid(value);
            if (!valid) refused += 1;
            expect(interpreted.accepts(value), JSON.stringify({ schema, value })).to.equal(valid);
            expect(explainer.explain(value).length === 0, JSON.stringify({ schema, value })).to.equal(valid);
          }
        }),
        { numRuns },
      );
      expect(refused).to.be.above(numRuns / 3);
    });
  }
});
