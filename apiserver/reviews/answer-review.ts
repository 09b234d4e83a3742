import type { ApiError, ModelDescriptor } from '@homeostat/controller-runtime/api';
import { invalid } from '../registry/object/resource-errors.ts';
import {
  localSubjectAccessReview,
  selfSubjectAccessReview,
  selfSubjectReview,
  selfSubjectRulesReview,
  subjectAccessReview,
  tokenReview,
} from './review-kinds.ts';
import type { Users } from './users.ts';

/** The `spec` of a review, valid by the schema of its kind. */
export interface ReviewSpec {
  readonly token?: string;
  readonly resourceAttributes?: { readonly namespace?: string };
  readonly nonResourceAttributes?: object;
  readonly user?: string;
  readonly groups?: readonly string[];
}

export interface ReviewContext {
  readonly users: Users;
  /** The namespace of the request's path. */
  readonly namespace: string | undefined;
}

type Answer = (spec: ReviewSpec, context: ReviewContext) => object;

/** There is no authorization yet: every client that is let in may do everything. */
const allowed = { allowed: true, reason: 'every client that the server lets in may do everything' };

const answers = new Map<ModelDescriptor, Answer>([
  [selfSubjectReview, (_spec, { users }) => ({ userInfo: users.current })],
  [tokenReview, answerToken],
  [selfSubjectAccessReview, answerAccess],
  [subjectAccessReview, answerSubject],
  [localSubjectAccessReview, answerLocal],
  [
    selfSubjectRulesReview,
    () => ({
      resourceRules: [{ verbs: ['*'], apiGroups: ['*'], resources: ['*'] }],
      nonResourceRules: [{ verbs: ['*'], nonResourceURLs: ['*'] }],
      incomplete: false,
    }),
  ],
]);

/** Returns the status of a review. @throws ApiError Invalid, naming the field that does not fit the others. */
export function answerReview(model: ModelDescriptor, spec: ReviewSpec, context: ReviewContext): object {
  const answer = answers.get(model);
  if (answer === undefined) throw new Error(`there is no answer to ${model.kind}`);
  return answer(spec, context);
}

function answerToken({ token }: ReviewSpec, { users }: ReviewContext): object {
  if (token === undefined || token === '') {
    const cause = { reason: 'FieldValueRequired', field: 'spec.token', message: 'Required value' } as const;
    throw invalid(tokenReview, '', [cause]);
  }
  const user = users.ofToken(token);
  return user === undefined ? { authenticated: false, user: {} } : { authenticated: true, user };
}

function answerAccess(spec: ReviewSpec): object {
  checkAttributes(selfSubjectAccessReview, spec);
  return allowed;
}

function answerSubject(spec: ReviewSpec): object {
  checkAttributes(subjectAccessReview, spec);
  checkSubject(subjectAccessReview, spec);
  return allowed;
}

function answerLocal(spec: ReviewSpec, { namespace }: ReviewContext): object {
  checkAttributes(localSubjectAccessReview, spec);
  checkSubject(localSubjectAccessReview, spec);
  if (spec.resourceAttributes?.namespace !== namespace) {
    const message = 'Invalid value: must be the namespace of the path';
    throw invalidField(localSubjectAccessReview, 'spec.resourceAttributes.namespace', message);
  }
  return allowed;
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
