import { userKind } from '@homeostat/apiserver/command-line';
import type { UserObject } from '@homeostat/apiserver/command-line';
import { createClient } from '@homeostat/controller-runtime';
import type { Client } from '@homeostat/controller-runtime';
import { apiVersionOf, isNotFound } from '@homeostat/controller-runtime/api';
import type { ModelDescriptor } from '@homeostat/controller-runtime/api';
import { refusalError, requestServer } from '../remote/request-server.ts';
import type { ServerAddress } from '../remote/request-server.ts';
import type { ConfigSources } from '../serve/config-values.ts';
import { environmentName } from '../serve/serve-options.ts';
import { formatTable } from '../text/format-table.ts';
import { readPassword } from '../text/read-password.ts';
import { readServer } from '../serve/read-server.ts';
import { runCopy } from './run-copy.ts';

export type UserVerb = 'list' | 'add' | 'password' | 'disable' | 'enable';

export interface UserCommand extends ConfigSources {
  readonly verb: UserVerb;
  readonly name: string;
}

/** Runs `homeostat user <verb>` and returns the exit code: 0, 1 when it failed, 2 for bad values. */
export function runUser(command: UserCommand): Promise<number> {
  return runCopy(`user ${command.verb}`, async (signal) => new UserCommands(command, signal).run());
}

class UserCommands {
  readonly #command: UserCommand;
  readonly #address: ServerAddress;
  readonly #client: Client;
  readonly #kind: ModelDescriptor<UserObject>;
  readonly #signal: AbortSignal;

  constructor(command: UserCommand, signal: AbortSignal) {
    const { flags, environment } = command;
    const address = readServer(command);
    const { server, ...access } = address;
    const domain = flags['service-domain'] ?? environment[environmentName('service-domain')];
    this.#command = command;
    this.#address = address;
    this.#client = createClient(server, access);
    this.#kind = userKind(typeof domain === 'string' && domain !== '' ? domain : 'homeostat.internal');
    this.#signal = signal;
  }

  async run(): Promise<void> {
    const verbs: Readonly<Record<UserVerb, () => Promise<void>>> = {
      list: async () => this.#list(),
      add: async () => this.#add(),
      password: async () => this.#changePassword(),
      disable: async () => this.#setDisabled(true),
      enable: async () => this.#setDisabled(false),
    };
    await verbs[this.#command.verb]();
  }

  async #list(): Promise<void> {
    const { items } = await this.#client.list(this.#kind, { sort: 'metadata.name,asc', signal: this.#signal });
    const rows = items.map(({ metadata, spec: { displayName = '', groups = [], disabled = false } = {} }) => [
      metadata.name,
      disabled ? 'yes' : 'no',
      groups.join(','),
      displayName,
    ]);
    process.stdout.write(formatTable([['NAME', 'DISABLED', 'GROUPS', 'DISPLAY NAME'], ...rows]));
  }

  /**
   * Asks for the password before it creates the user, and deletes the user again if the password cannot be set, so that
   * no user without a password remains after a failure.
   */
  async #add(): Promise<void> {
    const { flags, name } = this.#command;
    const password = await this.#readPassword();
    const { group: groups, 'display-name': displayName } = flags;
    const spec = {
      ...(Array.isArray(groups) ? { groups: groups.map(String) } : {}),
      ...(typeof displayName === 'string' ? { displayName } : {}),
    };
    await this.#client.create(this.#kind, { metadata: { name }, spec });
    try {
      await this.#setPassword(password);
    } catch (error) {
      await this.#client.delete(this.#kind, name, { signal: this.#signal });
      throw error;
    }
    say(`added ${name}`);
  }

  async #changePassword(): Promise<void> {
    await this.#setPassword(await this.#readPassword());
    say(`changed the password of ${this.#command.name}`);
  }

  async #setDisabled(disabled: boolean): Promise<void> {
    const { name } = this.#command;
    const patch = { type: 'merge', patch: { spec: { disabled } } } as const;
    try {
      await this.#client.patch(this.#kind, name, patch, { signal: this.#signal });
    } catch (error) {
      if (isNotFound(error)) throw new Error(`there is no user "${name}"`, { cause: error });
      throw error;
    }
    say(`${disabled ? 'disabled' : 'enabled'} ${name}`);
  }

  async #readPassword(): Promise<string> {
    return readPassword(process.stdin, this.#command.name, this.#signal);
  }

  async #setPassword(password: string): Promise<void> {
    const { name } = this.#command;
    const path = `/apis/${apiVersionOf(this.#kind)}/${this.#kind.plural}/${encodeURIComponent(name)}/password`;
    const init = { method: 'PUT', json: { password }, signal: this.#signal };
    const response = await requestServer(this.#address, path, init);
    if (response.status === 404) throw new Error(`there is no user "${name}"`);
    if (response.status !== 204) throw await refusalError(`PUT ${path}`, response);
  }
}

function say(text: string): void {
  process.stdout.write(`${text}\n`);
}
