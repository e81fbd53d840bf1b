pub mod get_proof;
pub mod proof_file;
pub mod verify;
pub mod verify_proof;
