import type { Client } from '@homeostat/controller-runtime';
import { CallAuditor } from '../audit/call-auditor.ts';
import type { AuditTrail } from '../audit/audit-trail.ts';
import type { Authorizer } from '../authorization/authorizer.ts';
import { AuditedClient } from './audited-client.ts';
import type { LocalClient, PluginClient } from './local-client.ts';
import { pluginGuard, pluginUser } from './plugin-guard.ts';
import type { PluginPermits } from './plugin-guard.ts';
import { service } from '../identity/user-info.ts';

export interface ClientsParts {
  readonly client: LocalClient;
  readonly authorizer: Authorizer;
  /** The audit log; undefined when writes are not audited. */
  readonly audit: AuditTrail | undefined;
  readonly uuid: () => string;
}

/** Creates the clients that code in the server's process uses. */
export class Clients {
  /** The client of the program that runs the server. */
  readonly own: Client;
  readonly #parts: ClientsParts;
  readonly #auditor: CallAuditor | undefined;

  constructor(parts: ClientsParts) {
    const { client, audit, uuid } = parts;
    this.#parts = parts;
    this.#auditor = audit === undefined ? undefined : new CallAuditor(audit, uuid);
    this.own =
      this.#auditor === undefined ? client : new AuditedClient({ client, auditor: this.#auditor, user: service });
  }

  ofPlugin(name: string, permits: PluginPermits | undefined): PluginClient {
    const { client, authorizer } = this.#parts;
    const user = pluginUser(name);
    const guard = permits === undefined ? undefined : pluginGuard(user, authorizer, permits);
    const own = client.as('plugin', `plugin:${name}`, { guard, author: user });
    return this.#auditor === undefined ? own : new AuditedClient({ client: own, auditor: this.#auditor, user, guard });
  }
}
