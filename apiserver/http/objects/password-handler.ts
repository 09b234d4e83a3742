import { ApiError } from '@homeostat/controller-runtime/api';
import type { ObjectKey } from '@homeostat/controller-runtime/api';
import type { Context } from 'koa';
import type { UserObject } from '../../builtin/user-kind.ts';
import type { BodyCodec } from '../../decode/body-codec.ts';
import { mastersGroup } from '../../identity/user-info.ts';
import { TooManyLogins } from '../../people/login-throttle.ts';
import { problemOfPassword } from '../../people/passwords.ts';
import type { People } from '../../people/people.ts';
import type { Resource } from '../../registry/kinds/resource.ts';
import { decodeObject } from '../../registry/object/object-codec.ts';
import { badRequest, invalid, notFound, resourceName } from '../../registry/object/resource-errors.ts';
import type { Registry } from '../../registry/registry.ts';
import { callerOf } from '../request/request-state.ts';
import { readObjectBody } from '../request/object-body.ts';
import { methodNotAllowed } from '../request/path-errors.ts';
import { readWriteOptions } from '../request/write-options.ts';

export interface PasswordHandlerParts {
  readonly registry: Registry;
  readonly bodies: BodyCodec;
  readonly people: People;
}

interface PasswordCall {
  readonly context: Context;
  readonly resource: Resource;
  readonly key: ObjectKey;
}

/** Handles `users/<name>/password`: a PUT of `{password}` sets the password, and no request can read it. */
export class PasswordHandler {
  readonly #parts: PasswordHandlerParts;

  constructor(parts: PasswordHandlerParts) {
    this.#parts = parts;
  }

  async handle({ context, resource, key }: PasswordCall): Promise<void> {
    const { registry, bodies, people } = this.#parts;
    if (context.method !== 'PUT') throw methodNotAllowed(context, resource.model);
    const { dryRun } = readWriteOptions(context, 'UpdateOptions');
    const body = await readObjectBody(context, bodies);
    const password = readPassword(body());
    const problem = problemOfPassword(password);
    if (problem !== undefined) {
      const cause = { reason: 'FieldValueInvalid', field: 'password', message: `Invalid value: ${problem}` } as const;
      throw invalid(resource.model, key.name, [cause]);
    }
    const { uid = '', deletion, bytes } = await registry.get(resource, key);
    checkRank(context, resource, decodeObject(bytes));
    if (deletion !== undefined) throw notFound(resource.model, key.name);
    if (dryRun !== true) await people.setPassword({ name: key.name, uid }, password).catch(asApiError);
    context.status = 204;
  }
}

/** Returns the password in a body. Error messages do not quote the body, because any part of it may be a password. */
function readPassword(body: unknown): string {
  if (typeof body !== 'object' || body === null || Array.isArray(body))
    throw badRequest('the body must be {"password": "…"}');
  const { password, ...others }: { readonly password?: unknown } = body;
  if (typeof password !== 'string') throw badRequest('password: must be a text');
  if (Object.keys(others).length > 0)
    throw badRequest('the body has an unknown field: it may only have the field password');
  return password;
}

/**
 * Lets only members of `system:masters` set the password of a member of this group, because a user who sets a password
 * can log in with it. @throws ApiError Forbidden
 */
function checkRank(context: Context, { model }: Resource, { metadata: { name }, spec = {} }: UserObject): void {
  const isMaster = (groups: readonly string[] = []): boolean => groups.includes(mastersGroup);
  if (!isMaster(spec.groups) || isMaster(callerOf(context).groups)) return;
  const message = `${resourceName(model)} "${name}" is forbidden: only a member of group "${mastersGroup}" may set the password of a member`;
  throw new ApiError('Forbidden', message, { details: { name, group: model.group, kind: model.plural } });
}

function asApiError(error: unknown): never {
  if (!(error instanceof TooManyLogins)) throw error;
  const { message, retryAfterSeconds } = error;
  throw new ApiError('TooManyRequests', message, { retryAfterSeconds });
}
