/** The minimum lifetime of a token in seconds, as in Kubernetes. */
export const minSeconds = 600;

export const defaultSeconds = 3600;

/**
 * The maximum lifetime, in seconds, that a request may name, as in Kubernetes. The token may get a shorter lifetime
 * than requested.
 */
export const maxRequestedSeconds: number = 2 ** 32;

/**
 * The maximum lifetime of a token that is bound to no object: a day. If the token's account is deleted earlier, the
 * token is invalid from then on.
 */
export const maxSeconds = 86_400;

/**
 * The maximum lifetime of a token that is bound to an object: 90 days. If the object is deleted earlier, the token is
 * invalid from then on.
 */
export const maxBoundSeconds: number = 90 * 86_400;
