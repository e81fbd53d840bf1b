//! A form whose file is processed while it is received. The checks of [`super::form`] apply. The
//! token and the confirmation must precede the file; browsers send fields in the order of the
//! page. The form parser buffers incomplete input, such as the text before the first boundary or the
//! headers of a part, so the size of everything before the file is limited ([`MOST_BEFORE_FILE`]).

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use futures_util::StreamExt;
use futures_util::stream::{self, BoxStream};
use multer::{Constraints, Field, Multipart, SizeLimit};
use rocket::data::{FromData, Outcome};
use rocket::{Data, Request};

use super::form::{TOKEN, check_origin, is_token_of, session_of};
use crate::error::{BODY, Error, FieldError, Result};
use crate::http::body::outcome;
use crate::http::body::upload::Upload;
use crate::http::header_value::header_of;

/// The maximum size of a file, 16 MiB, and 16 KiB for the other parts of the form.
const LIMIT_KIB: usize = 16 * 1024 + 16;
const LONGEST_TEXT: u64 = 256;
/// Maximum number of bytes before the file: two short fields and the headers of three parts.
const MOST_BEFORE_FILE: usize = 8 << 10;
const SMALL_PIECE: usize = 512;
const WORD: &str = "word";
/// The refusal of a form without a file.
pub const EMPTY_FILE: &str = "choose a file that has something in it";

/// A form from a page of this service. Its token and its file have not been read yet.
pub struct FileForm<'r> {
    upload: Upload<'r, LIMIT_KIB>,
    boundary: String,
    session: String,
}

pub type File = BoxStream<'static, Result<Vec<u8>>>;

#[rocket::async_trait]
impl<'r> FromData<'r> for FileForm<'r> {
    type Error = ();

    async fn from_data(request: &'r Request<'_>, data: Data<'r>) -> Outcome<'r, Self> {
        let head = match head_of(request) {
            Ok(head) => head,
            Err(error) => return outcome(request, Err(error)),
        };
        let (boundary, session) = head;
        let upload = Upload::from_data(request, data).await;
        upload.map(|upload| Self { upload, boundary, session })
    }
}

fn head_of(request: &Request<'_>) -> Result<(String, String)> {
    check_origin(request)?;
    let kind = header_of(request.headers(), "Content-Type").unwrap_or_default();
    let boundary = multer::parse_boundary(kind).map_err(|_| Error::InvalidRequest)?;
    Ok((boundary, session_of(request)?))
}

impl FileForm<'_> {
    /// Passes the file, which must not be empty, to `take`. `take` is not called unless the confirmation
    /// equals `word`. If `allowed` is an error, the body is read to its end but not parsed.
    pub async fn pass_to<A, T, F: Future<Output = Result<T>>>(
        self,
        allowed: Result<A>,
        word: &str,
        take: impl FnOnce(A, File) -> F,
    ) -> Result<T> {
        let Self { upload, boundary, session } = self;
        let read = async |pieces| {
            let allowed = allowed?;
            let begun = Arc::new(AtomicBool::new(false));
            let pieces = until_begun(pieces, Arc::clone(&begun));
            let sizes =
                SizeLimit::new().for_field(TOKEN, LONGEST_TEXT).for_field(WORD, LONGEST_TEXT);
            let constraints = Constraints::new().size_limit(sizes);
            let mut form = Multipart::with_constraints(pieces, boundary, constraints);
            let token = next(&mut form, TOKEN).await?.text().await.map_err(refusal)?;
            if !is_token_of(&session, &token) {
                return Err(Error::FormRefused);
            }
            let typed = next(&mut form, WORD).await?.text().await.map_err(refusal)?;
            if !typed.trim().eq_ignore_ascii_case(word) {
                let msg = format!("type \u{201c}{word}\u{201d} to confirm");
                let wrong = FieldError::new(&[BODY, WORD], msg, "value_error");
                return Err(Error::Validation(vec![wrong]));
            }
            let file = file(next(&mut form, "file").await?).await?;
            begun.store(true, Ordering::Relaxed);
            take(allowed, file).await
        };
        upload.pass_to(read).await
    }
}

/// The chunks of a body, split into small ones until the file begins; an error when too much
/// precedes the file. The parser buffers everything that is ready before it parses, so the small
/// chunks are delivered one at a time.
fn until_begun(
    pieces: BoxStream<'static, Result<Vec<u8>>>,
    begun: Arc<AtomicBool>,
) -> BoxStream<'static, Result<Vec<u8>>> {
    let rest = Vec::new();
    let small = stream::unfold((pieces, rest, 0_usize), move |(mut pieces, mut rest, passed)| {
        let has_begun = begun.load(Ordering::Relaxed);
        async move {
            if rest.is_empty() {
                rest = match pieces.next().await? {
                    Ok(piece) => piece,
                    Err(error) => return Some((Err(error), (pieces, Vec::new(), passed))),
                };
            }
            if has_begun {
                return Some((Ok(std::mem::take(&mut rest)), (pieces, rest, passed)));
            }
            tokio::task::yield_now().await;
            if passed >= MOST_BEFORE_FILE {
                return Some((Err(Error::InvalidRequest), (pieces, Vec::new(), passed)));
            }
            let later = rest.split_off(rest.len().min(SMALL_PIECE));
            let passed = passed + rest.len();
            Some((Ok(rest), (pieces, later, passed)))
        }
    });
    small.boxed()
}

async fn next(form: &mut Multipart<'static>, name: &str) -> Result<Field<'static>> {
    let field = form.next_field().await.map_err(refusal)?;
    field.filter(|field| field.name() == Some(name)).ok_or(Error::FormRefused)
}

async fn file(mut field: Field<'static>) -> Result<File> {
    let first = field.chunk().await.map_err(refusal)?;
    let first = first.filter(|piece| !piece.is_empty()).ok_or_else(|| {
        Error::Validation(vec![FieldError::new(&[BODY, "file"], EMPTY_FILE, "value_error")])
    })?;
    let rest = field.map(|piece| piece.map(|piece| piece.to_vec()).map_err(refusal));
    Ok(stream::iter([Ok(first.to_vec())]).chain(rest).boxed())
}

fn refusal(error: multer::Error) -> Error {
    match error {
        multer::Error::StreamReadFailed(cause) => {
            cause.downcast::<Error>().map_or(Error::InvalidRequest, |cause| *cause)
        }
        _ => Error::InvalidRequest,
    }
}
