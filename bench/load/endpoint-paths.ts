/** The group and version of the endpoints that are measured. */
export const endpointGroup = 'api.people.example.com/v1alpha1';

/** The path, below the group and version, of a route that responds immediately. */
export const greetingRoute = '/persons/:name/greeting';

export const greetingPattern: string = `/apis/${endpointGroup}${greetingRoute}`;

/** The path, below the group and version, of a route that returns a page of stored objects. */
export const listRoute = '/persons';

/** The page of Persons that the benchmark reads through the endpoint and through the generated API. */
export const listedPage = { sort: 'spec.name,asc', page: 3, size: 20 } as const;
