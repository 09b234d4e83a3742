import type { Context } from 'koa';
import type { Attributes } from '../../authorization/attributes.ts';
import type { UserInfo } from '../../identity/user-info.ts';

/** Something that a user was allowed to do. */
export interface Grant {
  readonly user: UserInfo;
  readonly attributes: Attributes;
}

declare module 'koa' {
  interface DefaultState {
    grants?: readonly Grant[];
  }
}

const key = 'grants';

/** Notes what a request was allowed to do, in addition to what was noted before. */
export function addGrants(context: Context, grants: readonly Grant[]): void {
  const before = context.state[key];
  context.state[key] = before === undefined ? grants : [...before, ...grants];
}

/** Returns all that a request was allowed to do; a request needs all of it. */
export function grantsOf(context: Context): readonly Grant[] {
  return context.state[key] ?? [];
}
