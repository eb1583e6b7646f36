"""One file a resource, each with an `APIRouter` named `router`."""
