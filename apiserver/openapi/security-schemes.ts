type Schemes = Readonly<Record<string, Readonly<Record<string, string>>>>;

const tokens = 'A token of the administrator, of the token file, of a service account, or of an issuer.';

/** The credentials of clients. A browser also sends its session cookie, which a document need not mention. */
export const securitySchemes: Schemes = {
  BearerToken: { type: 'http', scheme: 'bearer', description: tokens },
};

/**
 * The credentials of clients, as a Swagger 2.0 document declares them. Swagger 2.0 has no scheme for bearer tokens, so
 * the document declares an API key: the value of the header `authorization`. Kubernetes' documents do this, too.
 */
export const securityDefinitions: Schemes = {
  BearerToken: {
    type: 'apiKey',
    name: 'authorization',
    in: 'header',
    description: `${tokens} Begins with "Bearer ".`,
  },
};

/** The required credentials: none or a token. A request with a session, or to an open server, needs no token. */
export const security: readonly Readonly<Record<string, readonly string[]>>[] = [{}, { BearerToken: [] }];
