import { readFileSync } from 'node:fs';
import type { FieldCause, JsonSchema } from '@homeostat/controller-runtime/api';
import { expect } from 'chai';
import { compileSchema } from './compile-schema.ts';
import type { ObjectSchema } from './compile-schema.ts';

// The reasons for intended differences from Kubernetes. A case that is listed as a deviation must differ.
const reasons = {
  place:
    'a violated anyOf, oneOf or allOf names its field, where Kubernetes says "<nil>"; allOf is left to its branches',
  null: 'nullable means null, in an enum too; Kubernetes refuses null even when the enum lists it',
  multiple: 'Kubernetes complains of a factor 0 when a whole number meets multipleOf 0.5',
  mailbox: 'a mailbox with a display name is no e-mail address',
  metadata:
    'unknown fields of metadata are pruned and reported, as they are on the wire; the pipeline leaves that to a step before',
  onePass: 'defaults and the removal of nulls are one step, so the null is replaced before it can stay',
  format: 'k8s-long-name is a gated format; the pipeline recorded from the server ignores it, and so do we',
  double: 'an integer beyond 2^53 would lose digits',
  drop: 'a null that is neither nullable nor defaulted is removed by the same step that fills in defaults',
} as const;

type Deviation = keyof typeof reasons;

const pipelineDeviations: Readonly<Record<string, Deviation>> = {
  'enum nullable 1': 'null',
  'exclusive + multipleOf 0': 'multiple',
  'exclusive + multipleOf 2': 'multiple',
  'exclusive + multipleOf 5': 'multiple',
  'prune unknown 2': 'metadata',
  'oneOf 0': 'place',
  'oneOf 3': 'place',
  'anyOf 0': 'place',
  'format email 3': 'mailbox',
  'int32/int64 format 2': 'double',
};

interface Cause {
  readonly field: string;
  readonly reason?: string;
  readonly message?: string;
}

interface Instance {
  readonly input: object;
  readonly stored: object;
  readonly unknownFields?: readonly string[];
  readonly valid: boolean;
  readonly errors?: readonly Cause[];
}

function load<T>(name: string): readonly T[] {
  const file = new URL(`../../../test/vectors/${name}.json`, import.meta.url);
  return (JSON.parse(readFileSync(file, 'utf8')) as { cases: readonly T[] }).cases;
}

function compile(schema: JsonSchema): ObjectSchema {
  return compileSchema({ schemaName: 'Case', components: { Case: schema } });
}

/** Compiles a schema for the field `root`, because the recorded schema is not the schema of a whole object. */
function compileBelow(schema: JsonSchema | null): ObjectSchema {
  return compile({ type: 'object', properties: { root: schema ?? {} } });
}

/** Runs the check of a case. If the case is listed as a deviation, the check must fail. */
function expectUnless(deviation: Deviation | undefined, check: () => void): void {
  if (deviation === undefined) return check();
  expect(check, `listed as a deviation (${reasons[deviation]}), but does not deviate`).to.throw();
}

/**
 * Adds a test that fails when a listed deviation has no case. Without this test, the deviation would stay in the list
 * for ever.
 */
function itListsOnly(deviations: Readonly<Record<string, Deviation>>, cases: readonly string[]): void {
  it('each case in the list of deviations from Kubernetes exists among the cases recorded from Kubernetes', () => {
    expect(cases).to.include.members(Object.keys(deviations));
  });
}

function sorted(causes: readonly (Cause | FieldCause)[]): readonly string[] {
  return causes.map(({ field, reason, message }) => `${field} ${reason}: ${message}`).sort();
}

describe('schema vectors', () => {
  describe('schema-pipeline: defaults, pruning, nulls, validation', () => {
    const cases = load<{ name: string; schema: JsonSchema; instances: Instance[] }>('schema-pipeline');
    itListsOnly(
      pipelineDeviations,
      cases.flatMap(({ name, instances }) => instances.map((_, index) => `${name} ${index}`)),
    );
    for (const { name, schema, instances } of cases) {
      for (const [index, instance] of instances.entries()) {
        it(`${name}: processes object ${index} with the result that was recorded from Kubernetes`, () => {
          expectUnless(pipelineDeviations[`${name} ${index}`], () => runPipeline(compile(schema), instance));
        });
      }
    }
  });

  describe('pruning', () => {
    interface Case {
      readonly name: string;
      readonly schema: JsonSchema | null;
      readonly isResourceRoot: boolean;
      readonly input: unknown;
      readonly expected: unknown;
      readonly prunedPaths: readonly string[];
    }
    const deviations: Readonly<Record<string, Deviation>> = {
      'x-kubernetes-embedded-resource': 'metadata',
      'x-kubernetes-embedded-resource, with root=true': 'metadata',
    };
    const cases = load<Case>('pruning');
    itListsOnly(
      deviations,
      cases.map(({ name }) => name),
    );
    for (const { name, schema, isResourceRoot, input, expected, prunedPaths } of cases) {
      it(name, () => {
        expectUnless(deviations[name], () => {
          const object = (isResourceRoot ? input : { root: input }) as object;
          const paths = isResourceRoot ? compile(schema ?? {}).prune(object) : compileBelow(schema).prune(object);
          expect(object).to.deep.equal(isResourceRoot ? expected : { root: expected });
          expect(paths.map(belowRoot).sort()).to.deep.equal([...prunedPaths].sort());
        });
      });
    }
  });

  describe('defaulting', () => {
    interface Case {
      readonly name: string;
      readonly op?: string;
      readonly schema: JsonSchema | null;
      readonly input: unknown;
      readonly expected: unknown;
    }
    const deviations: Readonly<Record<string, Deviation>> = {
      empty: 'drop',
      'pruneNulls: empty': 'drop',
      'pruneNulls: object array': 'onePass',
    };
    const cases = load<Case>('defaulting');
    itListsOnly(
      deviations,
      cases.map(({ name }) => name),
    );
    for (const { name, schema, input, expected } of cases) {
      it(name, () => {
        expectUnless(deviations[name], () => {
          const object = { root: input };
          compileBelow(schema).applyDefaults(object);
          expect(object).to.deep.equal({ root: expected });
        });
      });
    }
  });

  describe('cr-validation: values', () => {
    interface Case {
      readonly name: string;
      readonly schema: JsonSchema;
      readonly input: object;
      readonly valid: boolean;
      readonly errors?: readonly string[];
    }
    const deviations: Readonly<Record<string, Deviation>> = {
      'nullable, x-kubernetes-int-or-string and user-provided anyOf': 'place',
      'nullable, x-kubernetes-int-or-string and user-provider allOf': 'place',
      k8sLongName: 'format',
    };
    // The cases with CEL rules are tested in judge-rules.test.ts.
    const cases = load<Case>('cr-validation').filter(
      ({ schema }) => !JSON.stringify(schema).includes('x-kubernetes-validations'),
    );
    itListsOnly(
      deviations,
      cases.map(({ name }) => name),
    );
    for (const [index, { name, schema, input, valid, errors = [] }] of cases.entries()) {
      it(`finds the same violations as Kubernetes in ${name} ${index}`, () => {
        expectUnless(valid ? undefined : deviations[name], () => {
          const causes = compile(schema).validate(input);
          expect(causes.map(({ field, message }) => `${field}: ${message}`).sort()).to.deep.equal([...errors].sort());
          expect(causes.length === 0).to.equal(valid);
        });
      });
    }
  });

  describe('listtype: sets and maps', () => {
    interface Case {
      readonly name: string;
      readonly schema: JsonSchema | null;
      readonly input: unknown;
      readonly errors: readonly Cause[];
    }
    for (const { name, schema, input, errors } of load<Case>('listtype')) {
      it(name, () => {
        const causes = compileBelow(schema).validate({ root: input });
        // Some items of the lists have a wrong type. The recording has only the violations of list types, so only these
        // are compared.
        const ofLists = causes.filter(({ message }) => /^Duplicate|list of type map$/.test(message));
        expect(places(ofLists)).to.deep.equal(places(errors));
      });
    }
  });

  describe('objectmeta-coerce: metadata of embedded objects', () => {
    interface Case {
      readonly name: string;
      readonly op?: string;
      readonly schema: JsonSchema | null;
      readonly dropInvalidFields?: boolean;
      readonly includeRoot: boolean;
      readonly input: object | null;
      readonly unknownFields?: readonly string[];
    }
    const cases = load<Case>('objectmeta-coerce')
      // The recorded cases of validation have no schema, so they cannot be repeated.
      .filter(({ op }) => op !== 'validate')
      // This server reports fields of a wrong type as violations. It never drops them, so no data is lost silently.
      .filter(({ dropInvalidFields }) => dropInvalidFields !== true)
      .filter(({ input }) => input !== null && typeof input === 'object');
    for (const { name, schema, includeRoot, input, unknownFields = [] } of cases) {
      it(name, () => {
        const paths = compile(schema ?? {}).prune(structuredClone(input ?? {}));
        // Only unknown fields of metadata are compared, because the pruning vectors cover all other unknown fields.
        // In a case without `includeRoot`, Kubernetes does not prune the metadata of the root object, but this server
        // does. So such a case does not compare the fields of the root's metadata.
        const ofMetadata = paths.filter(
          (path) => path.includes('metadata.') && (includeRoot || !path.startsWith('metadata.')),
        );
        expect([...ofMetadata].sort()).to.deep.equal([...unknownFields].sort());
      });
    }
  });
});

function runPipeline(
  compiled: ObjectSchema,
  { input, stored, unknownFields = [], valid, errors = [] }: Instance,
): void {
  const object = structuredClone(input);
  compiled.applyDefaults(object);
  expect([...compiled.prune(object)].sort()).to.deep.equal([...unknownFields].sort());
  expect(object).to.deep.equal(stored);
  const causes = compiled.validate(object);
  expect(sorted(causes)).to.deep.equal(sorted(errors));
  expect(causes.length === 0).to.equal(valid);
}

function belowRoot(path: string): string {
  return path.replace(/^root\.?/, '');
}

function places(causes: readonly (Cause | FieldCause)[]): readonly string[] {
  return causes.map(({ reason, field }) => `${field} ${reason}`).sort();
}
