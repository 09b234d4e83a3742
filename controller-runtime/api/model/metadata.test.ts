import { readFileSync } from 'node:fs';
import { expect } from 'chai';
import { validateMetadata } from './metadata.ts';
import type { OwnerReference } from '../object/object.ts';

interface OwnerCase {
  readonly description: string;
  readonly expectError: boolean;
  readonly expectedErrorMessage: string;
  readonly ownerReferences: readonly {
    APIVersion: string;
    Kind: string;
    Name: string;
    UID: string;
    Controller?: boolean;
  }[];
}

const { tables } = JSON.parse(
  readFileSync(new URL('../../../../test/vectors/misc-tables.json', import.meta.url), 'utf8'),
) as { tables: readonly { table: string; cases: readonly OwnerCase[] }[] };

const cluster = { scope: 'Cluster', nameFormat: 'label' } as const;
const namespaced = { scope: 'Namespaced', nameFormat: 'label' } as const;
const owner: OwnerReference = { apiVersion: 'g/v1', kind: 'Team', name: 'red', uid: 'u1', controller: true };

function fieldsOf(
  metadata: Parameters<typeof validateMetadata>[0],
  rules: Parameters<typeof validateMetadata>[1],
): string[] {
  return validateMetadata(metadata, rules).map(({ field }) => field ?? '');
}

describe('validateMetadata', () => {
  it('requires a name or generateName, and refuses their absence with the message of Kubernetes', () => {
    const required = {
      reason: 'FieldValueRequired',
      message: 'Required value: name or generateName is required',
      field: 'metadata.name',
    };
    expect(validateMetadata({}, cluster)).to.deep.equal([required]);
    expect(validateMetadata({ name: '', generateName: '' }, cluster)).to.deep.equal([required]);
    expect(validateMetadata({ generateName: 'a-' }, cluster)).to.deep.equal([]);
  });

  it('accepts names with dots only for models with the name format subdomain', () => {
    expect(fieldsOf({ name: 'persons.example.com' }, cluster)).to.deep.equal(['metadata.name']);
    expect(fieldsOf({ name: 'persons.example.com' }, { ...cluster, nameFormat: 'subdomain' })).to.deep.equal([]);
  });

  it('requires a namespace for namespaced models, and refuses a namespace for all others', () => {
    expect(fieldsOf({ name: 'a' }, namespaced)).to.deep.equal(['metadata.namespace']);
    expect(fieldsOf({ name: 'a', namespace: 'x.y' }, namespaced)).to.deep.equal(['metadata.namespace']);
    expect(fieldsOf({ name: 'a', namespace: 'x' }, namespaced)).to.deep.equal([]);
    expect(validateMetadata({ name: 'a', namespace: 'x' }, cluster)).to.deep.equal([
      { reason: 'FieldValueForbidden', message: 'Forbidden: not allowed on this type', field: 'metadata.namespace' },
    ]);
  });

  it('reports every violation at once, each with its field', () => {
    const metadata = {
      name: 'Bad_Name',
      generateName: '-',
      labels: { '-a': 'x' },
      annotations: { 'a b': 'x' },
      finalizers: ['foo bar/x', 'fine/x'],
      ownerReferences: [{ ...owner, uid: '' }],
    };
    expect(fieldsOf(metadata, cluster)).to.deep.equal([
      'metadata.generateName',
      'metadata.name',
      'metadata.labels',
      'metadata.annotations',
      'metadata.finalizers',
      'metadata.ownerReferences[0].uid',
    ]);
  });

  it('refuses an object with both finalizers orphan and foregroundDeletion', () => {
    const [cause] = validateMetadata({ name: 'a', finalizers: ['orphan', 'foregroundDeletion'] }, cluster);
    expect(cause?.message).to.contain('cannot be both set');
  });

  it('accepts and refuses owner references as Kubernetes did in the recorded cases', () => {
    const table = tables.find(
      ({ table: name }) => name === 'api_validation.TestValidateObjectMetaOwnerReferences.testCases',
    );
    expect(table?.cases).to.have.length.above(0);
    for (const each of table?.cases ?? []) {
      const ownerReferences = each.ownerReferences.map(({ APIVersion, Kind, Name, UID, Controller }) => {
        const reference = { apiVersion: APIVersion, kind: Kind, name: Name, uid: UID };
        return Controller === undefined ? reference : { ...reference, controller: Controller };
      });
      const causes = validateMetadata({ name: 'a', ownerReferences }, cluster);
      expect(causes, each.description).to.have.length(each.expectError ? 1 : 0);
      for (const { message } of causes) expect(message).to.contain(each.expectedErrorMessage);
    }
  });

  it('requires the fields of an owner reference that identify the owner', () => {
    const broken = JSON.parse('{"apiVersion": "g/", "kind": null}') as OwnerReference;
    const ownerReferences = [owner, broken, { ...owner, apiVersion: 'a/b/v1', controller: false }];
    expect(fieldsOf({ name: 'a', ownerReferences }, cluster)).to.deep.equal([
      'metadata.ownerReferences[1].apiVersion',
      'metadata.ownerReferences[1].kind',
      'metadata.ownerReferences[1].name',
      'metadata.ownerReferences[1].uid',
      'metadata.ownerReferences[2].apiVersion',
    ]);
  });
});
