import { apiVersionOf, metadataShapeErrors } from '@homeostat/controller-runtime/api';
import type { FieldCause, ObjectKey } from '@homeostat/controller-runtime/api';
import type { Context } from 'koa';
import { tokenRequestKind } from '../../builtin/service-account-kind.ts';
import type { BodyCodec } from '../../decode/body-codec.ts';
import type { AccountIssuer } from '../../identity/accounts/account-issuer.ts';
import type { BoundObject } from '../../identity/accounts/account-lookup.ts';
import { defaultSeconds, maxRequestedSeconds, minSeconds } from '../../identity/accounts/token-lifetime.ts';
import { messageOf } from '../../protobuf/object-messages.ts';
import type { Resource } from '../../registry/kinds/resource.ts';
import { badRequest, clip, conflict, invalid, notFound } from '../../registry/object/resource-errors.ts';
import { formatTime } from '../../registry/object/object-codec.ts';
import type { Registry } from '../../registry/registry.ts';
import { compileSchema } from '../../schema/compile-schema.ts';
import type { ResponseFormat } from '../request/accept.ts';
import { readObjectBody } from '../request/object-body.ts';
import { contradictsPath, methodNotAllowed } from '../request/path-errors.ts';
import { readWriteOptions } from '../request/write-options.ts';
import { sendBytes } from '../response/responses.ts';
import type { RequestPermissions } from '../access/request-permissions.ts';

interface TokenRequestSpec {
  readonly audiences?: readonly string[];
  readonly expirationSeconds?: number | null;
  readonly boundObjectRef?: Partial<BoundObject> | null;
}

interface TokenRequest {
  readonly apiVersion?: unknown;
  readonly kind?: unknown;
  readonly metadata?: { readonly name?: string; readonly namespace?: string };
  readonly spec?: TokenRequestSpec;
}

/** A request for a token of an account. */
export interface TokenRequestCall {
  readonly context: Context;
  readonly resource: Resource;
  readonly key: ObjectKey;
  readonly format: ResponseFormat;
}

export interface TokenRequestParts {
  readonly registry: Registry;
  readonly bodies: BodyCodec;
  readonly accountIssuer: AccountIssuer;
  readonly permissions: RequestPermissions;
}

/** Handles `serviceaccounts/<name>/token`: responds to a POST of a TokenRequest with a token of the account. */
export class TokenRequestHandler {
  readonly #parts: TokenRequestParts;

  constructor(parts: TokenRequestParts) {
    this.#parts = parts;
  }

  async handle(call: TokenRequestCall): Promise<void> {
    const { context, resource, key, format } = call;
    if (context.method !== 'POST') throw methodNotAllowed(context, resource.model);
    const { dryRun } = readWriteOptions(context, 'CreateOptions');
    const body = await readObjectBody(context, this.#parts.bodies, messageOf(tokenRequestKind));
    const spec = readTokenRequest(key, body());
    const { uid = '' } = await this.#parts.registry.get(resource, key);
    const account = { namespace: key.namespace ?? '', name: key.name, uid };
    const bound = await this.#boundObject(context, account.namespace, spec.boundObjectRef ?? undefined);
    const { audiences = [], expirationSeconds } = spec;
    const order = { account, bound, audiences, seconds: expirationSeconds ?? defaultSeconds };
    const issued = await this.#parts.accountIssuer.issue(order);
    context.status = 201;
    const answer = {
      kind: tokenRequestKind.kind,
      apiVersion: apiVersionOf(tokenRequestKind),
      metadata: { ...key, creationTimestamp: formatTime(issued.expiresMs - issued.seconds * 1000) },
      spec: { audiences: issued.audiences, expirationSeconds: issued.seconds, boundObjectRef: bound },
      status: { token: dryRun === true ? '' : issued.token, expirationTimestamp: formatTime(issued.expiresMs) },
    };
    sendBytes(context, Buffer.from(JSON.stringify(answer)), format);
    // No cache may keep a token.
    context.set('Cache-Control', 'no-store');
  }

  /**
   * Returns the object to which the token is bound. The caller needs the permission to read it, because the response
   * shows whether the object exists, and its uid.
   */
  async #boundObject(
    context: Context,
    namespace: string,
    wanted: Partial<BoundObject> | undefined,
  ): Promise<BoundObject | undefined> {
    if (wanted === undefined) return undefined;
    const { apiVersion = '', kind = '', name = '' } = wanted;
    const resource = this.#parts.accountIssuer.accounts.kindOf(apiVersion, kind);
    if (resource === undefined) {
      const type = clip(`${apiVersion}, Kind=${kind}`);
      throw badRequest(`cannot bind token for serviceaccount to object of type ${type}: no such kind is served`);
    }
    const key: ObjectKey = resource.model.scope === 'Namespaced' ? { namespace, name } : { name };
    const { group, version, plural } = resource.model;
    this.#parts.permissions.require(context, {
      isResource: true,
      verb: 'get',
      group,
      version,
      resource: plural,
      namespace: plural === 'namespaces' ? name : key.namespace,
      name,
    });
    const { uid = '', deletion } = await this.#parts.registry.get(resource, key);
    if (deletion !== undefined) throw notFound(resource.model, name);
    if ((wanted.uid ?? '') === '' || wanted.uid === uid) return { apiVersion, kind, name, uid };
    const why = `the UID in the bound object reference (${clip(wanted.uid ?? '')}) does not match the UID in record. The object might have been deleted and then recreated`;
    throw conflict(resource.model, name, why);
  }
}

function readTokenRequest(key: ObjectKey, body: unknown): TokenRequestSpec {
  if (body === null || typeof body !== 'object' || Array.isArray(body)) {
    throw badRequest('the object provided is unrecognized (must be of type TokenRequest): expected an object');
  }
  const request: TokenRequest = body;
  checkField('apiVersion', request.apiVersion, apiVersionOf(tokenRequestKind));
  checkField('kind', request.kind, tokenRequestKind.kind);
  const [wrong] = metadataShapeErrors(request.metadata ?? {});
  if (wrong !== undefined) throw badRequest(`${wrong.field}: ${wrong.message}`, [wrong]);
  checkField('metadata.name', request.metadata?.name, key.name);
  checkField('metadata.namespace', request.metadata?.namespace, key.namespace ?? '');
  const schema = compileSchema(tokenRequestKind);
  schema.prune(request);
  const causes = schema.validate(request);
  const all = causes.length > 0 ? causes : checkSpec(request.spec ?? {});
  if (all.length > 0) throw invalid(tokenRequestKind, key.name, all);
  return request.spec ?? {};
}

/**
 * Refuses a field whose value is not `expected`, the value that the request's path implies. A field may be absent. An
 * empty string counts as absent, because Go clients send it for an absent value.
 */
function checkField(field: string, value: unknown, expected: string): void {
  if (value === undefined || value === null || value === '' || value === expected) return;
  throw contradictsPath(field, value, expected);
}

function checkSpec({ expirationSeconds, audiences = [] }: TokenRequestSpec): readonly FieldCause[] {
  const seconds = expirationSeconds ?? defaultSeconds;
  const field = 'spec.expirationSeconds';
  const refuse = (rule: string): readonly FieldCause[] => [
    { reason: 'FieldValueInvalid', field, message: `Invalid value: ${seconds}: ${rule}` },
  ];
  if (seconds < minSeconds) return refuse('may not specify a duration less than 10 minutes');
  if (seconds > maxRequestedSeconds) return refuse('may not specify a duration larger than 2^32 seconds');
  return audiences.flatMap((audience, index) => {
    if (audience.length > 0 && audience.length <= 1024) return [];
    const message = 'Invalid value: must have 1 to 1024 characters';
    return [{ reason: 'FieldValueInvalid', field: `spec.audiences[${index}]`, message } as const];
  });
}
