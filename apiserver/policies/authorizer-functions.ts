import type { Authorizer } from '../authorization/authorizer.ts';
import type { UserInfo } from '../identity/user-info.ts';
import type { Attributes, ResourceAttributes } from '../authorization/attributes.ts';
import type { Overload } from '../cel/types/cel-function.ts';
import { overload } from '../cel/types/declare-function.ts';
import { CelError } from '../cel/values/cel-error.ts';
import { CelObject } from '../cel/values/cel-value.ts';
import type { CelValue } from '../cel/values/cel-value.ts';

const base = 'kubernetes.authorization';

/** A user, whose permissions an expression may ask for. */
export interface Asker {
  readonly authorizer: Authorizer;
  readonly user: UserInfo;
}

/** `authorizer`. */
export class CelAuthorizer extends CelObject {
  readonly typeName: string = `${base}.Authorizer`;
  readonly asker: Asker;

  constructor(asker: Asker) {
    super();
    this.asker = asker;
  }
}

/** A question about a path, or about a resource, that has no verb yet. */
export class CelCheck extends CelObject {
  readonly typeName: string;
  readonly asker: Asker;
  readonly attributes: Attributes;

  constructor(asker: Asker, type: 'PathCheck' | 'GroupCheck' | 'ResourceCheck', attributes: Attributes) {
    super();
    this.typeName = `${base}.${type}`;
    this.asker = asker;
    this.attributes = attributes;
  }
}

class CelDecision extends CelObject {
  readonly typeName: string = `${base}.Decision`;
  readonly allowed: boolean;
  readonly reason: string;

  constructor(allowed: boolean, reason: string) {
    super();
    this.allowed = allowed;
    this.reason = reason;
  }
}

const nothing: ResourceAttributes = { isResource: true, verb: '', group: '', version: '*', resource: '' };

/** The functions of `authorizer`. */
export const authorizerOverloads: readonly Overload[] = [
  overload(
    `${base}.Authorizer::path(string) ${base}.PathCheck`,
    ([target, path]) => new CelCheck(askerOf(target), 'PathCheck', { isResource: false, verb: '', path: textOf(path) }),
  ),
  overload(
    `${base}.Authorizer::group(string) ${base}.GroupCheck`,
    ([target, group]) => new CelCheck(askerOf(target), 'GroupCheck', { ...nothing, group: textOf(group) }),
  ),
  overload(`${base}.Authorizer::serviceAccount(string, string) ${base}.Authorizer`, ([target, namespace, name]) => {
    const [inNamespace, account] = [textOf(namespace), textOf(name)];
    const groups = ['system:serviceaccounts', `system:serviceaccounts:${inNamespace}`, 'system:authenticated'];
    const user = { username: `system:serviceaccount:${inNamespace}:${account}`, groups };
    return new CelAuthorizer({ ...askerOf(target), user });
  }),
  overload(`${base}.GroupCheck::resource(string) ${base}.ResourceCheck`, ([target, resource]) =>
    narrowed(target, { resource: textOf(resource) }),
  ),
  ...(['subresource', 'namespace', 'name'] as const).map((part) =>
    overload(`${base}.ResourceCheck::${part}(string) ${base}.ResourceCheck`, ([target, value]) =>
      narrowed(target, { [part]: textOf(value) }),
    ),
  ),
  ...['PathCheck', 'ResourceCheck'].map((type) =>
    overload(`${base}.${type}::check(string) ${base}.Decision`, ([target, verb]) => {
      const { asker, attributes } = checkOf(target);
      const { allowed, reason } = asker.authorizer.decide(asker.user, { ...attributes, verb: textOf(verb) });
      return new CelDecision(allowed, reason);
    }),
  ),
  overload(`${base}.Decision::allowed() bool`, ([target]) => decisionOf(target).allowed),
  overload(`${base}.Decision::reason() string`, ([target]) => decisionOf(target).reason),
  overload(`${base}.Decision::errored() bool`, () => false),
  overload(`${base}.Decision::error() string`, () => ''),
];

function narrowed(target: CelValue | undefined, part: Partial<ResourceAttributes>): CelCheck {
  const { asker, attributes } = checkOf(target);
  if (!attributes.isResource) throw new CelError('no such overload');
  return new CelCheck(asker, 'ResourceCheck', { ...attributes, ...part });
}

function askerOf(value: CelValue | undefined): Asker {
  if (value instanceof CelAuthorizer) return value.asker;
  throw new CelError('no such overload');
}

function checkOf(value: CelValue | undefined): CelCheck {
  if (value instanceof CelCheck) return value;
  throw new CelError('no such overload');
}

function decisionOf(value: CelValue | undefined): CelDecision {
  if (value instanceof CelDecision) return value;
  throw new CelError('no such overload');
}

function textOf(value: CelValue | undefined): string {
  if (typeof value === 'string') return value;
  throw new CelError('no such overload');
}
