import { ApiError, isJsonObject, leaderHeader } from '@homeostat/controller-runtime/api';
import type { Context } from 'koa';
import { maxManagerBytes } from '../../apply/read-managed-fields.ts';
import type { BodyCodec } from '../../decode/body-codec.ts';
import { deleteOptionsMessage } from '../../protobuf/object-messages.ts';
import type { ApplyOptions, CreateOptions, WriteOptions } from '../../registry/writes/write-options.ts';
import { checkFieldManager, requireFieldManager } from '../../registry/rules/check-field-manager.ts';
import type { OptionsKind } from '../../registry/rules/check-field-manager.ts';
import { readPropagationPolicy } from '../../registry/rules/propagation-policy.ts';
import { annotatorOf, callerOf } from './request-state.ts';
import { readLeader } from './own-headers.ts';
import { readOptionalBody } from './object-body.ts';
import { allOf, booleanOf, choiceOf, firstOf, refuse } from './query.ts';
import type { QueryParameters } from './query.ts';

/** The options of a write that come from the path. */
type Place = Pick<CreateOptions, 'namespace' | 'subresource'>;

/** The options of a write, and a list to which the write adds the warnings for its response. */
export type ReadOptions<T extends WriteOptions = CreateOptions> = T & { readonly warnings: string[] };

/**
 * Reads dryRun, fieldValidation and fieldManager. Like kube-apiserver, refuses invalid values, and `force` for a patch
 * that is not an apply (422).
 */
export function readWriteOptions(context: Context, options: OptionsKind, place: Place = {}): ReadOptions {
  const read = readOptions(context, options, place);
  if (options !== 'PatchOptions' || firstOf(context.query, 'force') === undefined) return read;
  throw refuse(options, 'force', {
    reason: 'FieldValueForbidden',
    message: 'Forbidden: may not be specified for non-apply patch',
  });
}

/** Reads the options of a server-side apply, which requires a field manager. */
export function readApplyOptions(context: Context, place: Place): ReadOptions<ApplyOptions> {
  const { query } = context;
  const options = 'PatchOptions';
  const read = readOptions(context, options, place);
  const fieldManager = requireFieldManager(firstOf(query, 'fieldManager'));
  return { ...read, fieldManager, force: booleanOf(query, 'force', options) ?? false };
}

function readOptions(context: Context, options: OptionsKind, { namespace, subresource }: Place): ReadOptions {
  // Most requests have no query. Then nothing is parsed, which saves time.
  const given = context.querystring === '' ? noParameters : readParameters(context.query, options);
  const { dryRun, fieldValidation, fieldManager = managerOfAgent(context.headers['user-agent']) } = given;
  const user = callerOf(context);
  const leader = context.headers[leaderHeader] === undefined ? undefined : readLeader(context);
  const annotate = context.state.audited === undefined ? undefined : annotatorOf(context);
  const warnings: string[] = [];
  context.state.warnings = warnings;
  return { dryRun, fieldValidation, fieldManager, user, leader, namespace, subresource, annotate, warnings };
}

type Parameters = Pick<WriteOptions, 'dryRun' | 'fieldValidation' | 'fieldManager'>;

const noParameters: Parameters = { dryRun: false, fieldValidation: undefined, fieldManager: undefined };

function readParameters(query: QueryParameters, options: OptionsKind): Parameters {
  const dryRun = query['dryRun'] !== undefined && readDryRun(allOf(query, 'dryRun'), options);
  const fieldValidation = choiceOf(query, {
    name: 'fieldValidation',
    supported: ['Ignore', 'Warn', 'Strict'],
    options,
  });
  const fieldManager = firstOf(query, 'fieldManager');
  if (fieldManager !== undefined) checkFieldManager(fieldManager, options);
  return { dryRun, fieldValidation, fieldManager };
}

/**
 * Returns the program's name at the start of a User-Agent (`kubectl/v1.32.5 …`), without unprintable characters;
 * undefined when no character is left.
 */
function managerOfAgent(agent: string | undefined): string | undefined {
  if (agent === undefined) return undefined;
  const slash = agent.indexOf('/');
  const name = slash < 0 ? agent : agent.slice(0, slash);
  return name.replace(/[^\x20-\x7e]/g, '').slice(0, maxManagerBytes) || undefined;
}

function readDryRun(values: readonly string[], options: OptionsKind): boolean {
  if (values.every((value) => value === 'All')) return values.length > 0;
  const message = `Unsupported value: ${JSON.stringify(values.map((value) => value.slice(0, 64)))}: supported values: "All"`;
  throw refuse(options, 'dryRun', { reason: 'FieldValueNotSupported', message });
}

interface DeleteBody {
  readonly kind?: unknown;
  readonly dryRun?: unknown;
  readonly propagationPolicy?: unknown;
  readonly orphanDependents?: unknown;
  readonly preconditions?: unknown;
}

/** Reads DeleteOptions from the body and the query. If both have a propagation policy, the one in the body applies. */
export async function readDeleteOptions(context: Context, bodies: BodyCodec): Promise<ReadOptions> {
  const options = 'DeleteOptions';
  const { query } = context;
  const body = deleteBody(await readOptionalBody(context, bodies, deleteOptionsMessage));
  const policy = body.propagationPolicy ?? firstOf(query, 'propagationPolicy');
  const propagationPolicy = readPropagationPolicy(policy, readOrphanDependents(body.orphanDependents, query));
  // Body and query both count, because a client that requests a dry run in either of them must not lose an object.
  const dryRun = [...readBodyDryRun(body.dryRun), ...allOf(query, 'dryRun')];
  const warnings: string[] = [];
  context.state.warnings = warnings;
  return {
    preconditions: readPreconditions(body.preconditions),
    dryRun: readDryRun(dryRun, options),
    propagationPolicy,
    user: callerOf(context),
    leader: readLeader(context),
    annotate: annotatorOf(context),
    warnings,
  };
}

function deleteBody(body: unknown): DeleteBody {
  if (body === undefined || body === null) return {};
  if (!isJsonObject(body)) throw new ApiError('BadRequest', 'the body must be DeleteOptions');
  const { kind } = body;
  if (kind !== undefined && kind !== 'DeleteOptions') throw new ApiError('BadRequest', 'kind: must be DeleteOptions');
  return body;
}

/** Reads orphanDependents, the legacy form of the propagation policy, from the body or the query. */
function readOrphanDependents(value: unknown, query: QueryParameters): boolean | undefined {
  if (value === undefined || value === null) return booleanOf(query, 'orphanDependents', 'DeleteOptions');
  if (typeof value !== 'boolean') throw new ApiError('BadRequest', 'orphanDependents: must be true or false');
  return value;
}

function readBodyDryRun(value: unknown): readonly string[] {
  if (value === undefined || value === null) return [];
  if (Array.isArray(value) && value.every((item) => typeof item === 'string')) return value;
  throw new ApiError('BadRequest', 'dryRun: must be a list of strings');
}

function readPreconditions(value: unknown): WriteOptions['preconditions'] {
  if (value === undefined || value === null) return undefined;
  if (!isJsonObject(value)) throw new ApiError('BadRequest', 'preconditions: must be an object');
  const { uid, resourceVersion } = value;
  for (const field of [uid, resourceVersion]) {
    if (field !== undefined && field !== null && (typeof field !== 'string' || field === ''))
      throw new ApiError('BadRequest', 'preconditions: uid and resourceVersion must be strings, and not empty');
  }
  return {
    ...(typeof uid === 'string' ? { uid } : {}),
    ...(typeof resourceVersion === 'string' ? { resourceVersion } : {}),
  };
}
