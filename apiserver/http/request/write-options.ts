import { ApiError } from '@homeostat/controller-runtime/api';
import type { Context } from 'koa';
import { maxManagerBytes } from '../../apply/read-managed-fields.ts';
import type { BodyCodec } from '../../decode/body-codec.ts';
import { deleteOptionsMessage } from '../../protobuf/object-messages.ts';
import type { ApplyOptions, WriteOptions } from '../../registry/writes/write-options.ts';
import { checkFieldManager, requireFieldManager } from '../../registry/rules/check-field-manager.ts';
import type { OptionsKind } from '../../registry/rules/check-field-manager.ts';
import { readPropagationPolicy } from '../../registry/rules/propagation-policy.ts';
import { readLeader } from './own-headers.ts';
import { readOptionalBody } from './object-body.ts';
import { allOf, booleanOf, choiceOf, firstOf, refuse } from './query.ts';
import type { Query } from './query.ts';

/** dryRun, fieldValidation, fieldManager and force, judged as the real server does (422). */
export function readWriteOptions(context: Context, options: OptionsKind): WriteOptions {
  const { query, headers } = context;
  const read = readCommonOptions(query, options);
  if (options === 'PatchOptions' && firstOf(query, 'force') !== undefined) {
    throw refuse(options, 'force', {
      reason: 'FieldValueForbidden',
      message: 'Forbidden: may not be specified for non-apply patch',
    });
  }
  const fieldManager = read.fieldManager ?? managerOfAgent(headers['user-agent']);
  return { ...read, ...readLeader(context), ...(fieldManager === '' ? {} : { fieldManager }) };
}

/** The same for server-side apply, which has to say who applies. */
export function readApplyOptions(context: Context): ApplyOptions {
  const { query } = context;
  const options = 'PatchOptions';
  const read = readCommonOptions(query, options);
  const fieldManager = requireFieldManager(read.fieldManager);
  return { ...read, ...readLeader(context), fieldManager, force: booleanOf(query, 'force', options) ?? false };
}

function readCommonOptions(query: Query, options: OptionsKind): WriteOptions {
  const dryRun = readDryRun(allOf(query, 'dryRun'), options);
  const fieldValidation = choiceOf(query, {
    name: 'fieldValidation',
    supported: ['Ignore', 'Warn', 'Strict'],
    options,
  });
  const fieldManager = firstOf(query, 'fieldManager');
  if (fieldManager !== undefined) checkFieldManager(fieldManager, options);
  return {
    dryRun,
    ...(fieldValidation === undefined ? {} : { fieldValidation }),
    ...(fieldManager === undefined ? {} : { fieldManager }),
  };
}

/** The program's name, as a User-Agent begins with it (`kubectl/v1.32.5 …`); what cannot be printed is left out. */
function managerOfAgent(agent = ''): string {
  const slash = agent.indexOf('/');
  return (slash < 0 ? agent : agent.slice(0, slash)).replace(/[^\x20-\x7e]/g, '').slice(0, maxManagerBytes);
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

/** DeleteOptions, from the body and the query; of a propagation policy in both, the body's. */
export async function readDeleteOptions(context: Context, bodies: BodyCodec): Promise<WriteOptions> {
  const options = 'DeleteOptions';
  const { query } = context;
  const body = deleteBody(await readOptionalBody(context, bodies, deleteOptionsMessage));
  const policy = body.propagationPolicy ?? firstOf(query, 'propagationPolicy');
  const propagationPolicy = readPropagationPolicy(policy, readOrphanDependents(body.orphanDependents, query));
  // Both count: who asks for a dry run in either place must not lose an object.
  const dryRun = [...readBodyDryRun(body.dryRun), ...allOf(query, 'dryRun')];
  const preconditions = readPreconditions(body.preconditions);
  return {
    dryRun: readDryRun(dryRun, options),
    ...(propagationPolicy === undefined ? {} : { propagationPolicy }),
    ...readLeader(context),
    ...(preconditions === undefined ? {} : { preconditions }),
  };
}

function deleteBody(body: unknown): DeleteBody {
  if (body === undefined || body === null) return {};
  if (typeof body !== 'object' || Array.isArray(body))
    throw new ApiError('BadRequest', 'the body must be DeleteOptions');
  const { kind } = body as DeleteBody;
  if (kind !== undefined && kind !== 'DeleteOptions') throw new ApiError('BadRequest', 'kind: must be DeleteOptions');
  return body;
}

/** The old form of a policy, from the body or the query. */
function readOrphanDependents(value: unknown, query: Query): boolean | undefined {
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
  if (typeof value !== 'object' || Array.isArray(value))
    throw new ApiError('BadRequest', 'preconditions: must be an object');
  const { uid, resourceVersion } = value as { uid?: unknown; resourceVersion?: unknown };
  for (const field of [uid, resourceVersion]) {
    if (field !== undefined && field !== null && (typeof field !== 'string' || field === ''))
      throw new ApiError('BadRequest', 'preconditions: uid and resourceVersion must be strings, and not empty');
  }
  return {
    ...(typeof uid === 'string' ? { uid } : {}),
    ...(typeof resourceVersion === 'string' ? { resourceVersion } : {}),
  };
}
