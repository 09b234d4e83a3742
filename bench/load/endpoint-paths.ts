/** The group and version of the endpoints that are measured. */
export const endpointGroup = 'api.people.example.com/v1alpha1';

/** A route that responds immediately, relative to its group. */
export const greetingRoute = '/persons/:name/greeting';

export const greetingPattern: string = `/apis/${endpointGroup}${greetingRoute}`;

/** A route that returns a page of stored objects, relative to its group. */
export const listRoute = '/persons';

/** The page that both the list of the generated API and the endpoint return. */
export const listedPage = { sort: 'spec.name,asc', page: 3, size: 20 } as const;
