/** An object's bytes may not be more, 1.5 MiB as in etcd: a watch event and a transaction have to carry it. */
export const maxObjectBytes: number = 1.5 * 1024 * 1024;
