import type { ResourceAttributes } from '../authorization/attributes.ts';
import type { Authorizer, Decision } from '../authorization/authorizer.ts';
import { forbidden } from '../authorization/forbidden.ts';
import type { ClientGuard } from './client-guard.ts';
import { authenticatedGroup } from '../identity/user-info.ts';
import type { UserInfo } from '../identity/user-info.ts';

/** The permissions that a plugin declares. */
export interface PluginPermits {
  /** True for requests that the plugin's manifest allows. */
  permits(attributes: ResourceAttributes): boolean;
  /**
   * Returns a hint that tells the plugin's author how to get a permission. It is a part of the message of a refusal.
   */
  cureOf(attributes: ResourceAttributes): string;
}

/** The group of which the users of all plugins are members. */
const pluginsGroup = 'system:plugins';

/** Returns the user of a plugin's client. */
export function pluginUser(name: string): UserInfo {
  return { username: `system:plugin:${name}`, groups: [pluginsGroup, authenticatedGroup] };
}

/**
 * Allows a plugin's client the actions that the plugin's manifest declares, and those that roles grant to the user
 * `system:plugin:<name>` or to the groups of this user.
 */
export function pluginGuard(user: UserInfo, authorizer: Authorizer, plugin: PluginPermits): ClientGuard {
  const decide = (attributes: ResourceAttributes): Decision =>
    plugin.permits(attributes)
      ? { allowed: true, reason: 'allowed by the permissions of the plugin' }
      : authorizer.decide(user, attributes);
  return {
    user,
    decide,
    check: (attributes) => {
      if (!decide(attributes).allowed) throw forbidden(user, attributes, plugin.cureOf(attributes));
    },
    onChange: (listener) => authorizer.onChange(listener),
  };
}
