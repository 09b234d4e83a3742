type Schemes = Readonly<Record<string, Readonly<Record<string, string>>>>;

const tokens = "A token: the administrator's, one of the token file, or that of a service account.";

/** How clients get in. A browser also sends the cookie of its session, of which a document need not say anything. */
export const securitySchemes: Schemes = {
  BearerToken: { type: 'http', scheme: 'bearer', description: tokens },
};

/** The same in Swagger 2.0, which has no bearer tokens: the whole header, as in Kubernetes' documents. */
export const securityDefinitions: Schemes = {
  BearerToken: {
    type: 'apiKey',
    name: 'authorization',
    in: 'header',
    description: `${tokens} Begins with "Bearer ".`,
  },
};

/** Nothing, for sessions and open servers, or a token. */
export const security: readonly Readonly<Record<string, readonly string[]>>[] = [{}, { BearerToken: [] }];
