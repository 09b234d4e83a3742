/** The sender of a request, as reviews name it. */
export interface UserInfo {
  readonly username: string;
  readonly groups: readonly string[];
}

/** The holder of the server's token, which allows everything. */
const admin: UserInfo = { username: 'admin', groups: ['system:masters', 'system:authenticated'] };

/** The user of every request to a server without a token. */
const anonymous: UserInfo = { username: 'system:anonymous', groups: ['system:unauthenticated'] };

/** The users of a server; only one until there is authorization. */
export class Users {
  readonly #isToken: ((token: string) => boolean) | undefined;

  /** `isToken` is undefined when the server has no token and lets in every client. */
  constructor(isToken: ((token: string) => boolean) | undefined) {
    this.#isToken = isToken;
  }

  /** The user of the requests that are let in. */
  get current(): UserInfo {
    return this.#isToken === undefined ? anonymous : admin;
  }

  /** Returns the user of a token; undefined when the token is not valid. */
  ofToken(token: string): UserInfo | undefined {
    return this.#isToken?.(token) === true ? admin : undefined;
  }
}
