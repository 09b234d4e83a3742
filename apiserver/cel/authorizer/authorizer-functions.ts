import type { Overload } from '../types/cel-function.ts';
import { overload } from '../types/declare-function.ts';
import type { CelType } from '../types/cel-type.ts';
import { CelError } from '../values/cel-error.ts';
import { CelObject } from '../values/cel-value.ts';
import type { CelValue } from '../values/cel-value.ts';

const base = 'kubernetes.authorization';

/** A request for a path, about which an expression asks whether it is allowed. */
interface AskedPath {
  readonly isResource: false;
  readonly verb: string;
  readonly path: string;
}

/** A request for a resource, about which an expression asks whether it is allowed. */
export interface AskedResource {
  readonly isResource: true;
  readonly verb: string;
  readonly group: string;
  readonly version: string;
  readonly resource: string;
  readonly subresource?: string;
  readonly namespace?: string;
  readonly name?: string;
}

/** Decides whether one user may make a request. */
export interface Asker {
  decide(asked: AskedPath | AskedResource): { readonly allowed: boolean; readonly reason: string };
  /** Returns the asker that decides about the requests of a service account. */
  forAccount(namespace: string, name: string): Asker;
}

/** The value of the variable `authorizer`, with which an expression asks whether a user may do something. */
export class CelAuthorizer extends CelObject {
  readonly typeName: string = `${base}.Authorizer`;
  readonly asker: Asker;

  constructor(asker: Asker) {
    super();
    this.asker = asker;
  }
}

/**
 * A permission check for a path or a resource, which an expression builds from `authorizer`. It has no verb yet: the
 * method `check` takes the verb, and decides.
 */
export class CelCheck extends CelObject {
  readonly typeName: string;
  readonly asker: Asker;
  readonly asked: AskedPath | AskedResource;

  constructor(asker: Asker, type: 'PathCheck' | 'GroupCheck' | 'ResourceCheck', asked: AskedPath | AskedResource) {
    super();
    this.typeName = `${base}.${type}`;
    this.asker = asker;
    this.asked = asked;
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

const nothing: AskedResource = { isResource: true, verb: '', group: '', version: '*', resource: '' };

const opaque = (name: string): CelType => ({ kind: 'opaque', name: `${base}.${name}`, params: [] });

/** The types of `authorizer` and `authorizer.requestResource`. */
export const authorizerType: CelType = opaque('Authorizer');
export const resourceCheckType: CelType = opaque('ResourceCheck');

/** The functions that expressions call on `authorizer`, and on the values that these functions return. */
export const authorizerOverloads: readonly Overload[] = [
  overload(
    `${base}.Authorizer::path(string) ${base}.PathCheck`,
    ([target, path]) => new CelCheck(askerOf(target), 'PathCheck', { isResource: false, verb: '', path: textOf(path) }),
  ),
  overload(
    `${base}.Authorizer::group(string) ${base}.GroupCheck`,
    ([target, group]) => new CelCheck(askerOf(target), 'GroupCheck', { ...nothing, group: textOf(group) }),
  ),
  overload(
    `${base}.Authorizer::serviceAccount(string, string) ${base}.Authorizer`,
    ([target, namespace, name]) => new CelAuthorizer(askerOf(target).forAccount(textOf(namespace), textOf(name))),
  ),
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
      const { asker, asked } = checkOf(target);
      const { allowed, reason } = asker.decide({ ...asked, verb: textOf(verb) });
      return new CelDecision(allowed, reason);
    }),
  ),
  overload(`${base}.Decision::allowed() bool`, ([target]) => decisionOf(target).allowed),
  overload(`${base}.Decision::reason() string`, ([target]) => decisionOf(target).reason),
  overload(`${base}.Decision::errored() bool`, () => false),
  overload(`${base}.Decision::error() string`, () => ''),
];

function narrowed(target: CelValue | undefined, part: Partial<AskedResource>): CelCheck {
  const { asker, asked } = checkOf(target);
  if (!asked.isResource) throw new CelError('no such overload');
  return new CelCheck(asker, 'ResourceCheck', { ...asked, ...part });
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
