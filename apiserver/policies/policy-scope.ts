import type { JsonSchema } from '@homeostat/controller-runtime/api';
import { authorizerOverloads, authorizerType, resourceCheckType } from '../cel/authorizer/authorizer-functions.ts';
import type { CelScope } from '../cel/evaluate/cel-expression.ts';
import { standardOverloads } from '../cel/library/standard-functions.ts';
import { readerOf } from '../cel/schema/json-values.ts';
import { typeOfSchema } from '../cel/schema/schema-type.ts';
import { FunctionTable } from '../cel/types/cel-function.ts';
import type { CelType } from '../cel/types/cel-type.ts';
import type { CelValue } from '../cel/values/cel-value.ts';

const text: JsonSchema = { type: 'string' };
const texts: JsonSchema = { type: 'array', items: text };
const labels: JsonSchema = { type: 'object', additionalProperties: text };
/** A schema for any value. It is the only schema without `type` that CEL can use. */
const anything: JsonSchema = { 'x-kubernetes-int-or-string': true };

function object(properties: Readonly<Record<string, JsonSchema>>): JsonSchema {
  return { type: 'object', properties };
}

const kind = object({ group: text, version: text, kind: text });
const resource = object({ group: text, version: text, resource: text });

/** The schema of the AdmissionRequest that expressions read as `request`. */
const requestSchema = object({
  kind,
  resource,
  subResource: text,
  requestKind: kind,
  requestResource: resource,
  requestSubResource: text,
  name: text,
  namespace: text,
  operation: text,
  userInfo: object({
    username: text,
    uid: text,
    groups: texts,
    extra: { type: 'object', additionalProperties: texts },
  }),
  dryRun: { type: 'boolean' },
  options: anything,
});

/** The schema of the Namespace that expressions read as `namespaceObject`. */
const namespaceSchema: JsonSchema = {
  ...object({
    apiVersion: text,
    kind: text,
    metadata: object({
      name: text,
      generateName: text,
      namespace: text,
      labels,
      annotations: labels,
      UID: text,
      creationTimestamp: { type: 'string', format: 'date-time' },
      deletionTimestamp: { type: 'string', format: 'date-time' },
      deletionGracePeriodSeconds: { type: 'integer' },
      finalizers: texts,
      generation: { type: 'integer' },
      resourceVersion: text,
    }),
    spec: object({ finalizers: texts }),
    status: object({ phase: text }),
  }),
  nullable: true,
};

export const readRequest: (value: unknown) => CelValue = readerOf(requestSchema, {}, false);
export const readNamespace: (value: unknown) => CelValue = readerOf(namespaceSchema, {}, false);

const dyn: CelType = { kind: 'dyn' };

const functions = new FunctionTable([...standardOverloads, ...authorizerOverloads]);

/** The names of the variables of expressions, in the order in which an evaluation passes their values. */
const variableNames = [
  'object',
  'oldObject',
  'request',
  'params',
  'namespaceObject',
  'variables',
  'authorizer',
  'authorizer.requestResource',
] as const;

/** The differences between scopes: whether `params` and `authorizer` exist, and the types of variables. */
export interface ScopeParts {
  readonly hasParams: boolean;
  readonly hasAuthorizer: boolean;
  /** The types of `variables.<name>`. */
  readonly variables: ReadonlyMap<string, CelType>;
  /** The type of `object` and `oldObject`. Default any. */
  readonly object?: CelType;
  /** The type of `params`. Default any. */
  readonly params?: CelType;
}

/**
 * Returns a type whose fields have their plain names: the type of a schema escapes names such as `namespace` to
 * `__namespace__`.
 */
function withPlainNames(type: CelType | undefined): CelType | undefined {
  if (type?.kind !== 'object') return type;
  const field = (name: string): CelType | undefined => withPlainNames(type.field(name) ?? type.field(`__${name}__`));
  return { ...type, field };
}

/** Returns the names that the expressions of policies, and the conditions of webhooks, may use. */
export function policyScope(parts: ScopeParts): CelScope {
  const { hasParams, hasAuthorizer, variables, object: type = dyn, params = dyn } = parts;
  const types: Readonly<Record<(typeof variableNames)[number], CelType | undefined>> = {
    object: type,
    oldObject: type,
    request: withPlainNames(typeOfSchema(requestSchema, {}, false)),
    params: hasParams ? params : undefined,
    namespaceObject: withPlainNames(typeOfSchema(namespaceSchema, {}, false)),
    variables: { kind: 'object', name: 'kubernetes.variables', field: (name) => variables.get(name) },
    authorizer: hasAuthorizer ? authorizerType : undefined,
    'authorizer.requestResource': hasAuthorizer ? resourceCheckType : undefined,
  };
  return { functions, variables: new Map(variableNames.map((name) => [name, types[name]])) };
}
