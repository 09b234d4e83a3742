// The common code of `homeostat new` and `npm create homeostat`: both add kinds, controllers and endpoints to a plugin.
export { addPart } from './add-part.ts';
export type { AddedPart, AddPartOptions } from './add-part.ts';
export type { PartType } from './names/part-type.ts';
export { checkPluginGroup, checkPluginName } from './names/check-names.ts';
export { ScaffoldError } from './names/scaffold-error.ts';
