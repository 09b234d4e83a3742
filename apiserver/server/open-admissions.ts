import { AdmissionTable } from '../admission/admission-table.ts';
import type { SchemeManager } from '../registry/kinds/scheme-manager.ts';

/** The hooks of plugins for the kinds that are registered. */
export function openAdmissions(schemes: SchemeManager): AdmissionTable {
  const admissions = new AdmissionTable({ lookup: (gvk) => schemes.lookup(gvk) });
  schemes.on('unregistered', ({ descriptor }) => admissions.forgetKind(descriptor));
  return admissions;
}
