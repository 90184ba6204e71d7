// The version of the wire contract and the digest of the schemas it stands for.
// Must never change its digest without a new version: the contract only grows.

export const CONTRACT_VERSION = '1.3.0';

/** SHA-256 over every generated schema, in file name order. */
export const CONTRACT_SHA256 = '87b9ccded3242e57cd609817c7ba683c513f33bfbeebd3fc7bafaa94a2424ef3';
