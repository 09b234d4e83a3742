/** Kubernetes' least lifetime of a token. */
export const minSeconds = 600;

export const defaultSeconds = 3600;

/** The greatest number that Kubernetes accepts in a request; a token may get less than requested. */
export const maxRequestedSeconds: number = 2 ** 32;

/** The longest life of a token that only its account can make void: a day. */
export const maxSeconds = 86_400;

/** The longest life of a token that is bound to an object, whose deletion makes it void: 90 days. */
export const maxBoundSeconds: number = 90 * 86_400;
