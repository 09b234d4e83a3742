import { readFileSync } from 'node:fs';
import type { FieldViolation } from '@homeostat/controller-runtime/api';
import { expect } from 'chai';
import { atOnce } from '../turns/in-turns.ts';
import { checkCompleteness } from './check-completeness.ts';
import { checkDefinitionWrite } from './check-definition-write.ts';
import type { CustomResourceDefinition, DefinitionSchema } from './definition.ts';
import { DefinitionViolations } from './definition-violations.ts';

// The reasons for intended differences from Kubernetes. If a listed case behaves as in Kubernetes, its test fails.
const reasons = {
  status:
    'a creation cannot set the status, which is dropped; names get defaults here, which Kubernetes fills in earlier',
  more: 'Kubernetes does not check types once it has found another mistake',
  place: 'a mistake of the stored definition may remain where it is; Kubernetes then allows the same mistake anywhere',
  internal: 'fields that only older versions of the API have are unknown here, and pruned',
} as const;

type Deviation = keyof typeof reasons;

const deviations: Readonly<Record<string, Deviation>> = {
  'webhook conversion without preserveUnknownFields=false': 'internal',
  missing_storage_version_in_stored_versions: 'status',
  empty_stored_version: 'status',
  'missing values': 'status',
  'bad names 01': 'status',
  'x-kubernetes-preserve-unknown-field: false': 'more',
  'non-structural updates allowed if old object has non-structural schema': 'place',
  'top-level and per-version fields are mutually exclusive': 'internal',
  'schema not required if old object is missing schema for some versions': 'place',
  'add default with enabled feature gate, structural schema, without pruning': 'place',
  'allow nullable key in list of type map if pre-existing': 'place',
  'allow nullable item in list of type map if pre-existing': 'place',
};

interface Violation {
  readonly reason: string;
  readonly field: string;
}

function load<T>(name: string): readonly T[] {
  const file = new URL(`../../../test/vectors/${name}.json`, import.meta.url);
  return (JSON.parse(readFileSync(file, 'utf8')) as { cases: readonly T[] }).cases;
}

/**
 * Returns the violations with the paths of Kubernetes' internal type, which the recording uses. If all versions have
 * the same schema or selectable fields, the internal type has them only once, in spec.validation and
 * spec.selectableFields.
 */
function places(violations: readonly (Violation | FieldViolation)[]): readonly string[] {
  const all = violations.map(({ reason, field }) => {
    const place = field
      .replace(/^spec\.versions\[\d+\]\.schema\./, 'spec.validation.')
      .replace('spec.conversion.webhookClientConfig', 'spec.conversion.webhook.clientConfig')
      .replace('spec.conversion.conversionReviewVersions', 'spec.conversion.webhook.conversionReviewVersions');
    return `${reason} ${place}`;
  });
  return [...new Set(all)].sort();
}

/** Adds the list of versions if it is absent, because the schema of the kind requires it. */
function complete(definition: CustomResourceDefinition): CustomResourceDefinition {
  return { ...definition, spec: { ...definition.spec, versions: definition.spec.versions ?? [] } };
}

function expectUnless(deviation: Deviation | undefined, check: () => void): void {
  if (deviation === undefined) return check();
  expect(check, `listed as deviating (${reasons[deviation]}), but does not deviate`).to.throw();
}

describe('definition vectors', () => {
  interface Case {
    readonly name: string;
    readonly crd: CustomResourceDefinition;
    readonly errors: readonly Violation[];
  }
  interface Update {
    readonly name: string;
    readonly old: CustomResourceDefinition;
    readonly new: CustomResourceDefinition;
    readonly errors: readonly Violation[];
  }
  const creations = load<Case>('crd-validation');
  const updates = load<Update>('crd-validation-update');
  const selectable = load<Case>('selectable-fields').filter(({ crd }) => crd !== undefined);

  it('include every case that is listed as a deviation', () => {
    expect([...creations, ...updates, ...selectable].map(({ name }) => name)).to.include.members(
      Object.keys(deviations),
    );
  });

  describe('crd-validation: creations', () => {
    for (const { name, crd, errors } of creations) {
      it(name, () => {
        expectUnless(deviations[name], () => {
          expect(places(atOnce(checkDefinitionWrite(complete(crd), undefined)))).to.deep.equal(places(errors));
        });
      });
    }
  });

  describe('crd-validation-update: updates', () => {
    for (const { name, old, new: next, errors } of updates) {
      it(name, () => {
        expectUnless(deviations[name], () => {
          const found = atOnce(checkDefinitionWrite(complete(next), complete(old)));
          expect(places(found)).to.deep.equal(places(errors));
        });
      });
    }
  });

  describe('selectable-fields: declarations', () => {
    for (const { name, crd, errors } of selectable) {
      it(name, () => {
        const found = atOnce(checkDefinitionWrite(complete(crd), undefined));
        const isTopLevel = errors.some(({ field }) => field.startsWith('spec.selectableFields'));
        const internal = found.map((each) => ({
          ...each,
          field: isTopLevel
            ? each.field.replace('spec.versions[0].selectableFields', 'spec.selectableFields')
            : each.field,
        }));
        expect(places(internal)).to.deep.equal(places(errors));
      });
    }
  });

  describe('structural-schema: fields in branches must also be specified outside of branches', () => {
    interface Structural {
      readonly name: string;
      readonly schema: DefinitionSchema;
      readonly options: { readonly AllowValidationPropertiesWithAdditionalProperties?: boolean };
      readonly error: string;
    }
    // Cases with AllowValidationPropertiesWithAdditionalProperties are left out: this option allows CEL rules below
    // allOf, which this server refuses.
    const cases = load<Structural>('structural-schema').filter(
      ({ options }) => options.AllowValidationPropertiesWithAdditionalProperties !== true,
    );
    for (const { name, schema, error } of cases) {
      it(name, () => {
        const violations = new DefinitionViolations();
        checkCompleteness('', schema, violations);
        expect(violations.found.map(({ field, message }) => `${field}: ${message}`).join()).to.equal(error);
      });
    }
  });
});
