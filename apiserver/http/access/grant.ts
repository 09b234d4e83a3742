import type { Context } from 'koa';
import type { Attributes } from '../../authorization/attributes.ts';
import type { UserInfo } from '../../identity/user-info.ts';

/** A permission that a request has used. */
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

/** Notes a permission that a request has used, in addition to earlier ones. */
export function addGrants(context: Context, grants: readonly Grant[]): void {
  const before = context.state[key];
  context.state[key] = before === undefined ? grants : [...before, ...grants];
}

/** Returns all permissions that a request has used; it needs all of them. */
export function grantsOf(context: Context): readonly Grant[] {
  return context.state[key] ?? [];
}
