import type { ApiError, ModelDescriptor } from '@homeostat/controller-runtime/api';
import type { Attributes } from '../authorization/attributes.ts';
import type { Authorizer } from '../authorization/authorizer.ts';
import type { Authenticator } from '../identity/authenticator.ts';
import type { UserInfo } from '../identity/user-info.ts';
import { badRequest, invalid } from '../registry/object/resource-errors.ts';
import {
  localSubjectAccessReview,
  selfSubjectAccessReview,
  selfSubjectReview,
  selfSubjectRulesReview,
  subjectAccessReview,
  tokenReview,
} from './review-kinds.ts';

/** The attributes of a request to a resource, with the names that reviews use. */
interface ReviewedResource {
  readonly namespace?: string;
  readonly verb?: string;
  readonly group?: string;
  readonly version?: string;
  readonly resource?: string;
  readonly subresource?: string;
  readonly name?: string;
}

/** The `spec` of a review, which the schema of its kind has accepted. */
export interface ReviewSpec {
  readonly namespace?: string;
  readonly token?: string;
  readonly audiences?: readonly string[];
  readonly resourceAttributes?: ReviewedResource;
  readonly nonResourceAttributes?: { readonly path?: string; readonly verb?: string };
  readonly user?: string;
  readonly uid?: string;
  readonly groups?: readonly string[];
  readonly extra?: Readonly<Record<string, readonly string[]>>;
}

export interface ReviewParts {
  readonly authenticator: Authenticator;
  readonly authorizer: Authorizer;
}

export interface ReviewContext extends ReviewParts {
  /** The user who sends the review. */
  readonly caller: UserInfo;
  /** The namespace of the request's path. */
  readonly namespace: string | undefined;
}

type Answer = (spec: ReviewSpec, context: ReviewContext) => object | Promise<object>;

const answers = new Map<ModelDescriptor, Answer>([
  [selfSubjectReview, (_spec, { caller }) => ({ userInfo: caller })],
  [tokenReview, answerToken],
  [selfSubjectAccessReview, answerAccess],
  [subjectAccessReview, answerSubject],
  [localSubjectAccessReview, answerLocal],
  [selfSubjectRulesReview, answerRules],
]);

/**
 * Returns the status of a review. @throws ApiError Invalid, which names the wrong or missing field; BadRequest for a
 * SelfSubjectRulesReview without a namespace.
 */
export function answerReview(
  model: ModelDescriptor,
  spec: ReviewSpec,
  context: ReviewContext,
): object | Promise<object> {
  const answer = answers.get(model);
  if (answer === undefined) throw new Error(`no review of kind ${model.kind}`);
  return answer(spec, context);
}

/** The maximum number of audiences, because the token is checked once for each of them. */
const maxAudiences = 32;

async function answerToken({ token, audiences = [] }: ReviewSpec, { authenticator }: ReviewContext): Promise<object> {
  if (token === undefined || token === '') {
    const cause = { reason: 'FieldValueRequired', field: 'spec.token', message: 'Required value' } as const;
    throw invalid(tokenReview, '', [cause]);
  }
  if (audiences.length > maxAudiences) {
    throw invalidField(tokenReview, 'spec.audiences', `Too many: must have at most ${maxAudiences} items`);
  }
  const asked = audiences.length === 0 ? [authenticator.audience] : audiences;
  const found = await Promise.all(asked.map(async (audience) => authenticator.ofToken(token, audience)));
  const user = found.find((each) => each !== undefined);
  if (user === undefined) return { authenticated: false, user: {} };
  if (audiences.length === 0) return { authenticated: true, user };
  return { authenticated: true, user, audiences: asked.filter((_audience, index) => found[index] !== undefined) };
}

function answerAccess(spec: ReviewSpec, { caller, authorizer }: ReviewContext): object {
  checkAttributes(selfSubjectAccessReview, spec);
  return authorizer.decide(caller, attributesOf(spec));
}

function answerSubject(spec: ReviewSpec, { authorizer }: ReviewContext): object {
  checkAttributes(subjectAccessReview, spec);
  checkSubject(subjectAccessReview, spec);
  return authorizer.decide(subjectOf(spec), attributesOf(spec));
}

function answerLocal(spec: ReviewSpec, { namespace, authorizer }: ReviewContext): object {
  checkAttributes(localSubjectAccessReview, spec);
  checkSubject(localSubjectAccessReview, spec);
  if (spec.resourceAttributes?.namespace !== namespace) {
    const message = 'Invalid value: must be the namespace of the path';
    throw invalidField(localSubjectAccessReview, 'spec.resourceAttributes.namespace', message);
  }
  return authorizer.decide(subjectOf(spec), attributesOf(spec));
}

function answerRules({ namespace = '' }: ReviewSpec, { caller, authorizer }: ReviewContext): object {
  if (namespace === '') throw badRequest('no namespace on request');
  const rules = authorizer.rulesFor(caller, namespace);
  const resourceRules = rules
    .filter(({ resources = [] }) => resources.length > 0)
    .map(({ verbs, apiGroups, resources, resourceNames }) => ({ verbs, apiGroups, resources, resourceNames }));
  const nonResourceRules = rules
    .filter(({ nonResourceURLs = [] }) => nonResourceURLs.length > 0)
    .map(({ verbs, nonResourceURLs }) => ({ verbs, nonResourceURLs }));
  return { resourceRules, nonResourceRules, incomplete: false };
}

function subjectOf({ user = '', uid, groups = [], extra }: ReviewSpec): UserInfo {
  return { username: user, groups, ...(uid === undefined ? {} : { uid }), ...(extra === undefined ? {} : { extra }) };
}

function attributesOf({ resourceAttributes, nonResourceAttributes }: ReviewSpec): Attributes {
  if (resourceAttributes === undefined) {
    const { verb = '', path = '' } = nonResourceAttributes ?? {};
    return { isResource: false, verb, path };
  }
  const { verb = '', group = '', version = '', resource = '', subresource, namespace, name } = resourceAttributes;
  // Go clients send empty strings for absent values.
  const part = { subresource: present(subresource), namespace: present(namespace), name: present(name) };
  return { isResource: true, verb, group, version, resource, ...part };
}

function present(text: string | undefined): string | undefined {
  return text === '' ? undefined : text;
}

function checkAttributes(model: ModelDescriptor, { resourceAttributes, nonResourceAttributes }: ReviewSpec): void {
  if ((resourceAttributes === undefined) !== (nonResourceAttributes === undefined)) return;
  const message = 'Invalid value: exactly one of nonResourceAttributes or resourceAttributes must be specified';
  throw invalidField(model, 'spec.resourceAttributes', message);
}

function checkSubject(model: ModelDescriptor, { user = '', groups = [] }: ReviewSpec): void {
  if (user !== '' || groups.length > 0) return;
  throw invalidField(model, 'spec.user', 'Invalid value: at least one of user or groups must be specified');
}

function invalidField(model: ModelDescriptor, field: string, message: string): ApiError {
  return invalid(model, '', [{ reason: 'FieldValueInvalid', field, message }]);
}
