import type { ResourceAttributes } from '../authorization/attributes.ts';
import type { Authorizer } from '../authorization/authorizer.ts';
import { forbidden } from '../authorization/forbidden.ts';
import type { ClientGuard } from './client-guard.ts';
import { authenticatedGroup } from '../identity/user-info.ts';
import type { UserInfo } from '../identity/user-info.ts';

/** The permissions that a plugin declares. */
export interface PluginPermits {
  /** True for requests that the plugin's manifest allows. */
  permits(attributes: ResourceAttributes): boolean;
  /** Returns what its author can do to get a permission; it is a part of the message of the refusal. */
  cureOf(attributes: ResourceAttributes): string;
}

/** The group of all plugins. */
const pluginsGroup = 'system:plugins';

/** Allows a plugin's client what its manifest declares, and what roles grant to the user `system:plugin:<name>`. */
export function pluginGuard(name: string, authorizer: Authorizer, plugin: PluginPermits): ClientGuard {
  const user: UserInfo = { username: `system:plugin:${name}`, groups: [pluginsGroup, authenticatedGroup] };
  return {
    user,
    check: (attributes) => {
      if (plugin.permits(attributes) || authorizer.decide(user, attributes).allowed) return;
      throw forbidden(user, attributes, plugin.cureOf(attributes));
    },
    onChange: (listener) => authorizer.onChange(listener),
  };
}
