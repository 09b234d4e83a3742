import { apiVersionOf } from '@homeostat/controller-runtime/api';
import type { JsonSchema } from '@homeostat/controller-runtime/api';
import type { AdmissionPolicy } from '../builtin/objects/policy-objects.ts';
import { typeOfSchema } from '../cel/schema/schema-type.ts';
import { celTypes } from '../cel/types/cel-type.ts';
import type { CelType } from '../cel/types/cel-type.ts';
import type { ResourceTable } from '../registry/kinds/resource-table.ts';
import { nextTurn } from '../turns/next-turn.ts';
import { compilePolicy } from './compile-policy.ts';

/** The maximum number of kinds with which a policy is checked, as in Kubernetes. */
const maxKinds = 10;

/** A mistake that an expression has for objects of some kinds. Kubernetes' `ExpressionWarning`. */
export interface ExpressionWarning {
  readonly fieldRef: string;
  readonly warning: string;
}

interface CheckedKind {
  /** The name of the kind in messages, such as `apps/v1, Kind=Deployment`. */
  readonly text: string;
  readonly schema: JsonSchema;
  readonly components: Readonly<Record<string, JsonSchema>>;
}

/**
 * Checks the expressions of a policy with the types of its parameters and of the first {@link maxKinds} kinds that its
 * rules name. The check of each kind takes one turn of the event loop. Rules with wildcards are left out.
 */
export async function checkPolicyTypes(
  policy: Pick<AdmissionPolicy, 'spec'>,
  table: ResourceTable,
): Promise<readonly ExpressionWarning[]> {
  const warnings = new Map<string, string[]>();
  const params = paramsTypeOf(policy, table);
  for (const kind of kindsOf(policy, table)) {
    await nextTurn('background');
    const object = typeOfKind(kind);
    if (object === undefined) continue;
    const types = params === undefined ? { object } : { object, params };
    for (const { field, problem } of compilePolicy(policy, types).mistakes) {
      const known = warnings.get(field) ?? [];
      known.push(`${kind.text}: ${problem}`);
      warnings.set(field, known);
    }
  }
  return [...warnings].map(([fieldRef, texts]) => ({ fieldRef, warning: texts.join('\n') }));
}

function kindsOf({ spec }: Pick<AdmissionPolicy, 'spec'>, table: ResourceTable): readonly CheckedKind[] {
  const found = new Map<string, CheckedKind>();
  const models = table.models();
  for (const { apiGroups = [], apiVersions = [], resources = [] } of spec.matchConstraints?.resourceRules ?? []) {
    if ([...apiGroups, ...apiVersions, ...resources].some((each) => each.includes('*'))) continue;
    const named = models.filter(({ group, version }) => apiGroups.includes(group) && apiVersions.includes(version));
    const inOrder = resources.flatMap((resource) => named.filter(({ plural }) => plural === resource));
    for (const { group, version, kind, schemaName, components } of inOrder) {
      const text = `${group}/${version}, Kind=${kind}`;
      found.set(text, { text, schema: components[schemaName] ?? {}, components });
    }
  }
  return [...found.values()].slice(0, maxKinds);
}

/**
 * Returns the type of a policy's parameters; undefined if their kind is not served, or its objects may have any form.
 */
function paramsTypeOf({ spec }: Pick<AdmissionPolicy, 'spec'>, table: ResourceTable): CelType | undefined {
  const { paramKind } = spec;
  const found = table
    .models()
    .find((each) => apiVersionOf(each) === paramKind?.apiVersion && each.kind === paramKind.kind);
  if (found === undefined) return undefined;
  const { components, schemaName } = found;
  return typeOfKind({ schema: components[schemaName] ?? {}, components });
}

const text: JsonSchema = { type: 'string' };
const texts: JsonSchema = { type: 'array', items: text };
const labels: JsonSchema = { type: 'object', additionalProperties: text };
const time: JsonSchema = { type: 'string', format: 'date-time' };
const flag: JsonSchema = { type: 'boolean' };

const owner: JsonSchema = {
  type: 'object',
  properties: { apiVersion: text, kind: text, name: text, uid: text, controller: flag, blockOwnerDeletion: flag },
};

const metadataType = typeOfSchema(
  {
    type: 'object',
    properties: {
      name: text,
      generateName: text,
      uid: text,
      resourceVersion: text,
      generation: { type: 'integer' },
      creationTimestamp: time,
      deletionTimestamp: time,
      deletionGracePeriodSeconds: { type: 'integer' },
      labels,
      annotations: labels,
      finalizers: texts,
      ownerReferences: { type: 'array', items: owner },
    },
  },
  {},
  false,
);

/** The fields of metadata whose name is a reserved word, or whose value may have any form. */
const otherMetadata: ReadonlySet<string> = new Set(['namespace', '__namespace__', 'managedFields']);

/** Returns the type of a kind's objects; undefined if they may have any form. */
function typeOfKind({ schema, components }: Omit<CheckedKind, 'text'>): CelType | undefined {
  const type = typeOfSchema(schema, components, true);
  if (type?.kind !== 'object' || metadataType?.kind !== 'object') return undefined;
  const ofMetadata = metadataType.field;
  const metadata: CelType = {
    ...metadataType,
    field: (name) => (otherMetadata.has(name) ? celTypes.dyn : ofMetadata(name)),
  };
  return { ...type, field: (name) => (name === 'metadata' ? metadata : type.field(name)) };
}
